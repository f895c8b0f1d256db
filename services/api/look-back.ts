import { BusError } from '../../shared/errors.ts';
import { partitionOf } from '../../shared/partition.ts';
import type { Bus, IncomingRecord } from '../../shared/runtime/bus.ts';

/** What is looked through. */
export interface Look {
  readonly topic: string;
  /** Only the partition of this key; all of them where there is none. */
  readonly key?: string | undefined;
  /** The `next` of the look before. */
  readonly cursor: string | undefined;
  /** Records at most. */
  readonly look: number;
}

/** A record that was found. */
export interface Found {
  readonly partition: number;
  readonly record: IncomingRecord;
  /** What was appended after this instant, looks before this one had. */
  readonly begin: number | undefined;
}

/** How a look ended; `next` leads on from there, and is undefined at the start of the topic. */
export interface Looked {
  readonly looked: number;
  /** When the last of them was appended. */
  readonly backTo: number | undefined;
  readonly next: string | undefined;
}

/** How far a look came in one partition: from `upper` on everything was looked at, from `read` on it was read. */
interface Reach {
  readonly partition: number;
  readonly start: bigint;
  upper: bigint;
  read: bigint;
  size: number;
  /** Read and not looked at yet, the newest last. */
  waiting: IncomingRecord[];
}

// Most looks end soon: what they find lies near the end of one partition or another.
const firstChunk = 16;
const mostOfChunk = 500;
/** A stretch larger than this is followed by a shorter one: a record may be a thousand times as large as most. */
const chunkBytes = 1_048_576;
/** A look ends here too, and leads on, before large records take it longer than its caller waits. */
const lookBytes = 33_554_432;

/**
 * Looks at the records of a topic, newest first over all partitions, until `take` answers false: the next look begins with
 * that record.
 */
export async function lookBack(
  bus: Pick<Bus, 'offsets' | 'read'>,
  { topic, key, cursor, look }: Look,
  take: (found: Found) => boolean | Promise<boolean>,
): Promise<Looked> {
  const bounds = await bus.offsets(topic);
  if (bounds === undefined) throw new BusError('topic-missing', { topic });
  const partitions = key === undefined ? [...bounds.keys()] : [partitionOf(key, bounds.length)];
  const { begin, positions } = readCursor(cursor, partitions.length);
  const size = Math.max(1, Math.min(firstChunk, Math.ceil(look / partitions.length)));
  const reaches = partitions.map((partition, index): Reach => {
    const { start, end } = bounds[partition] ?? { start: 0n, end: 0n };
    const asked = positions[index] ?? end;
    const upper = asked > end ? end : asked;
    return { partition, start, upper, read: upper, size, waiting: [] };
  });
  await Promise.all(reaches.map((reach) => readOn(bus, topic, reach)));

  let [looked, bytes] = [0, 0];
  let backTo: number | undefined;
  let nextBegin = begin;
  while (looked < look && bytes < lookBytes) {
    const reach = newestOf(reaches);
    const record = reach?.waiting.at(-1);
    if (reach === undefined || record === undefined) break;
    nextBegin = record.at;
    if (!(await take({ partition: reach.partition, record, begin }))) break;
    reach.waiting.pop();
    reach.upper = record.offset;
    looked += 1;
    bytes += bytesOf(record);
    backTo = record.at;
    if (reach.waiting.length === 0 && looked < look) await readOn(bus, topic, reach);
  }
  const ended = reaches.every(({ upper, start }) => upper <= start);
  const next = [nextBegin ?? 0, ...reaches.map(({ upper }) => upper)].join('-');
  return { looked, backTo, next: ended ? undefined : next };
}

/** What a cursor is made of: an instant, and a position for each partition. */
function readCursor(cursor: string | undefined, partitions: number) {
  if (cursor === undefined) return { begin: undefined, positions: [] };
  const [begin, ...positions] = cursor.split('-');
  if (positions.length === partitions) return { begin: Number(begin), positions: positions.map(BigInt) };
  throw new BusError('input-invalid', { issues: ['cursor: belongs to another list'] });
}

function newestOf(reaches: readonly Reach[]): Reach | undefined {
  let newest: Reach | undefined;
  let newestAt = Number.NEGATIVE_INFINITY;
  for (const reach of reaches) {
    const at = reach.waiting.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    if (at > newestAt) [newest, newestAt] = [reach, at];
  }
  return newest;
}

/** Reads the stretch before what was read, and further back while there is nothing in it. */
async function readOn(bus: Pick<Bus, 'read'>, topic: string, reach: Reach): Promise<void> {
  while (reach.waiting.length === 0 && reach.read > reach.start) {
    const from = reach.read - BigInt(reach.size) > reach.start ? reach.read - BigInt(reach.size) : reach.start;
    reach.waiting = await readBetween(bus, { topic, partition: reach.partition, from, to: reach.read });
    reach.read = from;
    const bytes = reach.waiting.reduce((sum, record) => sum + bytesOf(record), 0);
    reach.size = bytes > chunkBytes ? Math.ceil(reach.size / 2) : Math.min(reach.size * 2, mostOfChunk);
  }
  if (reach.waiting.length === 0) reach.upper = reach.read;
}

const bytesOf = ({ value }: IncomingRecord): number => value?.length ?? 0;

async function readBetween(
  bus: Pick<Bus, 'read'>,
  at: { readonly topic: string; readonly partition: number; readonly from: bigint; readonly to: bigint },
): Promise<IncomingRecord[]> {
  const all: IncomingRecord[] = [];
  for (let offset = at.from; offset < at.to; ) {
    const records = await bus.read({ ...at, offset, limit: Number(at.to - offset) });
    const last = records.at(-1);
    if (last === undefined) break;
    all.push(...records.filter((record) => record.offset < at.to));
    offset = last.offset + 1n;
  }
  return all;
}

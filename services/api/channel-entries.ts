import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { type Entry, entries } from '../../schemas/mirror.ts';
import { BusError } from '../../shared/errors.ts';
import type { ProjectionReader } from '../../shared/journey/projection-reader.ts';
import { partitionOf } from '../../shared/partition.ts';
import type { Bus, IncomingRecord } from '../../shared/runtime/bus.ts';
import type { Codec } from '../../shared/runtime/codec.ts';

/** Which entries of a channel are wanted. */
export interface EntryPage {
  readonly signalChannelId: string;
  readonly providerThreadId?: string | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly before?: bigint | undefined;
}

/** A page of entries, those first that a fact touched last; `next` is absent on the last one. */
export interface FoundEntries {
  readonly entries: readonly Entry[];
  readonly next: bigint | undefined;
}

const chunk = 500n;
const maxRows = 500;

/**
 * Finds entries of a channel by the log: what passed a filter lies there in order, all of a channel in one partition, so the
 * mirror needs no index of its own. A page looks through `look` records at most, and may be empty before the last one.
 */
export async function entriesOfChannel(
  world: {
    readonly bus: Pick<Bus, 'offsets' | 'read'>;
    readonly codec: Codec;
    readonly mirror: Pick<ProjectionReader, 'read'>;
    readonly look: number;
  },
  { signalChannelId, providerThreadId, limit, before }: EntryPage,
): Promise<FoundEntries> {
  const topic = acceptedFacts.name;
  const bounds = await world.bus.offsets(topic);
  if (bounds === undefined) throw new BusError('topic-missing', { topic });
  const partition = partitionOf(signalChannelId, bounds.length);
  const { start, end } = bounds[partition] ?? { start: 0n, end: 0n };
  const found: Entry[] = [];
  const seen = new Set<string>();
  let upper = before === undefined || before > end ? end : before;
  const least = later(start, upper - BigInt(world.look));

  while (upper > least) {
    const from = later(least, upper - chunk);
    const records = await readBetween(world.bus, { topic, partition, from, to: upper });
    for (const record of records.toReversed()) {
      const id = await entryIdOf(record, signalChannelId, world.codec);
      if (id === undefined || seen.has(id)) continue;
      // Only here: the same fact, passed to another binding, is not what the next page should begin with.
      if (found.length === limit || seen.size === maxRows) return { entries: found, next: record.offset + 1n };
      seen.add(id);
      const entry = await world.mirror.read(entries.at({ signalChannelId, sourceEntryId: id }));
      const isWanted = providerThreadId === undefined || entry?.providerThreadId === providerThreadId;
      if (entry !== undefined && isWanted) found.push(entry);
    }
    upper = from;
  }
  return { entries: found, next: upper > start ? upper : undefined };
}

const later = (a: bigint, b: bigint): bigint => (a > b ? a : b);

async function readBetween(
  bus: Pick<Bus, 'read'>,
  at: { readonly topic: string; readonly partition: number; readonly from: bigint; readonly to: bigint },
): Promise<readonly IncomingRecord[]> {
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

/** The entry that a record of this channel is about. Others of the partition are told by their key, and not decoded. */
async function entryIdOf(record: IncomingRecord, signalChannelId: string, codec: Codec): Promise<string | undefined> {
  if (record.key?.toString('utf8') !== signalChannelId) return undefined;
  const decoded = await codec.decode(acceptedFacts, record.value);
  return decoded.type === 'value' ? acceptedFacts.about?.(decoded.value).sourceEntryId : undefined;
}

import { errors } from '../../../shared/errors.ts';
import { broken, type Check, checkOf, doubtful, type Finding } from './check.ts';

/** What a partition of a stage needs of its topic, and what the topic still holds. */
export interface NeedReading {
  readonly stage: string;
  readonly topic: string;
  readonly partition: number;
  /** The last record applied, -1 where the store has no state; the group's committed offset, -1 where it has none. */
  readonly fence: bigint;
  readonly committed: bigint;
  readonly start: bigint;
  /** Append time of the first record that the stage still has to read; undefined when none is left. */
  readonly at: number | undefined;
  /** How long the topic keeps its records; undefined for ever. */
  readonly retentionMs: number | undefined;
}

// So much of the retention may have passed before the first record that waits: the rest is the time to act in.
const nearShare = 0.8;
const dayMs = 86_400_000;
const days = (ms: number): string => (ms / dayMs).toFixed(1);

/** The offset that a stage reads next in a partition, after a start as well; undefined where it has handled nothing yet. */
export function neededFrom({ fence, committed }: Pick<NeedReading, 'fence' | 'committed'>): bigint | undefined {
  if (fence >= 0n) return fence + 1n;
  return committed > 0n ? committed : undefined;
}

function findingOf(reading: NeedReading, now: number): readonly Finding[] {
  const { stage, topic, partition, fence, committed, start, at, retentionMs } = reading;
  const needed = neededFrom(reading);
  const place = `${stage}, partition ${partition}`;
  if (needed !== undefined && needed < start) {
    const detail = `${place}: needs ${topic} from offset ${needed} on, which is kept from ${start} on: it stops with offset-gap`;
    return [broken(detail, errors['offset-gap'].fix)];
  }
  if (fence < 0n && committed > start && start > 0n) {
    const detail = `${place}: Redis has no state of it, and ${topic} begins at offset ${start}: older records are in no state`;
    return [doubtful(detail, 'Before the stage starts, restore Redis from a copy if there is one: docs/delivery.md.')];
  }
  if (at === undefined || retentionMs === undefined || now - at <= nearShare * retentionMs) return [];
  const detail = `${place}: its first record in ${topic} is ${days(now - at)} days old, and leaves it after ${days(retentionMs)}`;
  const fix =
    'Have the stage catch up, or lengthen the retention until it has: docs/operating.md#records-leave-before-they-are-read.';
  return [doubtful(detail, fix)];
}

/** Whatever the stages still have to read is kept, and for a while. */
export function checkNeeded(readings: readonly NeedReading[], now: number): Check {
  const found = readings.flatMap((reading) => findingOf(reading, now));
  return checkOf('needed records', found, {
    well: 'all kept, and for a while',
    notWell: found.some(({ status }) => status === 'failed')
      ? 'some have left their topic'
      : 'some leave their topic soon, or have left it with their state',
  });
}

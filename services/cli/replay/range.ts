import { projections } from '../../../schemas/index.ts';
import { BusError } from '../../../shared/errors.ts';
import { partitionOf } from '../../../shared/partition.ts';
import type { Bus } from '../../../shared/runtime/bus.ts';
import { groupOf } from '../../../shared/runtime/run-stage.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';

/** A stretch of one partition: folded from `start`, compared from `from` to before `to`. */
export interface ReplayRange {
  readonly partition: number;
  readonly start: bigint;
  readonly from: bigint;
  readonly to: bigint;
  /** Records of the time range that the stage has not decided on yet: there is nothing to compare them with. */
  readonly undecided: bigint;
}

/** So many records are folded before those that are compared where a stage keeps no rows, so that repeats are known. */
const repeatsWithin = 1_000n;

/** Whether what a stage decides depends on rows that it keeps. */
export const keepsRows = (stage: AnyStage): boolean => projections.some((each) => each.stage === stage.name);

/** The stretches of a stage's input that a time range and perhaps a key mean. Throws `topic-missing`, `input-invalid`. */
export async function replayRanges(
  bus: Bus,
  options: {
    readonly stage: AnyStage;
    readonly from: number;
    readonly to: number;
    /** Folds from so long before `from`; where it is absent, from the first record that is kept. */
    readonly warmUpMs: number | undefined;
    readonly key: string | undefined;
    readonly most: number;
  },
): Promise<readonly ReplayRange[]> {
  const { stage, from, to, warmUpMs, key, most } = options;
  const topic: string = stage.input.name;
  const bounds = await bus.offsets(topic);
  if (bounds === undefined) throw new BusError('topic-missing', { topic });
  const committed = await bus.committed(groupOf(stage.name), topic);
  const wanted = [...bounds.keys()].filter((each) => key === undefined || each === partitionOf(key, bounds.length));
  const ranges = await Promise.all(
    wanted.map(async (partition): Promise<ReplayRange> => {
      const { start, end } = bounds[partition] ?? { start: 0n, end: 0n };
      const first = largest(start, await bus.offsetAt(topic, partition, from));
      const last = smallest(end, await bus.offsetAt(topic, partition, to));
      const decided = smallest(last, largest(first, committed[partition] ?? 0n));
      const warm = keepsRows(stage)
        ? warmUpMs === undefined
          ? start
          : await bus.offsetAt(topic, partition, from - warmUpMs)
        : first - repeatsWithin;
      return {
        ...{ partition, from: first, to: largest(first, decided) },
        start: smallest(first, largest(start, warm)),
        undecided: last > decided ? last - decided : 0n,
      };
    }),
  );
  const records = ranges.reduce((sum, range) => sum + (range.to - range.start), 0n);
  if (records > BigInt(most)) {
    throw new BusError('input-invalid', {
      problem: `${records} records would be read, more than --most allows`,
      hint: 'narrow the range, give --warm-up or raise --most',
    });
  }
  return ranges.filter((range) => range.to > range.from || range.undecided > 0n);
}

const largest = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const smallest = (a: bigint, b: bigint): bigint => (a < b ? a : b);

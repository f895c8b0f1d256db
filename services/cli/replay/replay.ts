import type { Bus } from '../../../shared/runtime/bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Codec } from '../../../shared/runtime/codec.ts';
import { partitionCounts } from '../../../shared/runtime/partition-counts.ts';
import type { RuntimeSettings } from '../../../shared/runtime/runtime-settings.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import { type Comparison, compareEnds } from './compare.ts';
import { type DecidedAgain, decideAgain } from './decide-again.ts';
import { keepsRows, replayRanges } from './range.ts';
import { recordedEnds } from './recorded.ts';

/** What a replay is made of. */
export interface ReplayOptions {
  readonly stage: AnyStage;
  readonly settings: unknown;
  readonly tables: Readonly<Record<string, unknown>>;
  readonly bus: Bus;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly runtime: RuntimeSettings;
  readonly from: number;
  readonly to: number;
  readonly warmUpMs: number | undefined;
  readonly settleMs: number;
  readonly key: string | undefined;
  readonly most: number;
  readonly progress: (text: string | undefined) => void;
}

/** What a replay found. */
export interface Replayed extends Comparison {
  /** Records that were compared, and those that were folded before them. */
  readonly records: number;
  readonly foldedBefore: number;
  /** Records of the time range that the stage has not decided on yet. */
  readonly undecided: number;
  readonly keepsRows: boolean;
  /** Topics that no longer have all that was decided in the range. */
  readonly shortened: readonly string[];
}

/** Decides a stretch of time again, with the present code and tables, and compares with what was decided then. */
export async function replay(options: ReplayOptions): Promise<Replayed> {
  const { stage, bus, clock, runtime, progress } = options;
  const counts = await partitionCounts({ stage, bus, clock, retryMs: runtime.retryMs });
  const ranges = await replayRanges(bus, options);
  const all = Number(ranges.reduce((sum, { start, to }) => sum + (to - start), 0n));
  let read = 0;
  const again: DecidedAgain[] = [];
  for (const range of ranges) {
    const onRead = (records: number): void => {
      read += records;
      progress(`Deciding again: ${Math.min(read, all)} of ${all} records …`);
    };
    const partitionsOf = (topic: string): number => counts.get(topic) ?? 0;
    again.push(await decideAgain({ ...options, partitionsOf, onRead }, range));
  }

  let compared = 0;
  const recorded = await recordedEnds({
    ...options,
    wanted: new Map(again.map(({ partition, offsets }) => [partition, offsets])),
    onRead(records) {
      compared += records;
      progress(`Reading what was decided then: ${compared} records …`);
    },
  });
  progress(undefined);
  return {
    ...compareEnds(
      recorded.ends,
      again.flatMap(({ ends }) => ends),
    ),
    records: again.reduce((sum, { offsets }) => sum + offsets.size, 0),
    foldedBefore: Number(ranges.reduce((sum, { start, from }) => sum + (from - start), 0n)),
    undecided: Number(ranges.reduce((sum, { undecided }) => sum + undecided, 0n)),
    keepsRows: keepsRows(stage),
    shortened: recorded.shortened,
  };
}

import { BusError } from '../errors.ts';
import { inReach } from './in-reach.ts';
import { partitionCounts } from './partition-counts.ts';
import {
  type RebuildPartition,
  type RebuildStanding,
  type RebuildSurroundings,
  rebuildContext,
  rebuildPartition,
} from './rebuild-partition.ts';
import type { RebuildThreads } from './rebuild-threads.ts';
import type { Generations } from './store.ts';

/** What a rebuild runs on. */
export interface RebuildOptions extends RebuildSurroundings {
  /** Partitions folded at once. */
  readonly parallel: number;
  /** How long the state before stays, for readers that look at Redis themselves. */
  readonly graceMs: number;
  /** Fold most of it, each on a core of its own; absent, this thread folds all. */
  readonly threads?: RebuildThreads | undefined;
  readonly onStep: (step: RebuildStep) => void;
}

/** What a rebuild does now. */
export type RebuildStep =
  | { readonly type: 'began' | 'resumed'; readonly generation: number }
  | { readonly type: 'folding'; readonly partitions: readonly RebuildStanding[]; readonly folded: number }
  | { readonly type: 'switched'; readonly generation: number }
  | { readonly type: 'removing' };

/** What a rebuild came to. */
export interface Rebuilt {
  readonly stage: string;
  readonly generation: number;
  readonly resumed: boolean;
  readonly partitions: number;
  /** Records that this run folded. */
  readonly records: number;
  readonly foldMs: number;
  /** Partitions whose first records have left the topic: what came of them alone is not in the rebuilt state. */
  readonly shortened: readonly number[];
  /** Keys of former generations that were removed. */
  readonly removed: number;
}

/** So few records behind the live state, its owners fold the rest before anybody notices. */
const closeRecords = 1_000;

/**
 * Folds the input of a stage anew beside its live state, puts the result in use and removes what was before. Can be killed
 * at any moment; started again, it goes on. Throws `rebuild-abandoned`, `offset-gap`, `topic-missing`.
 */
export async function rebuildStage(options: RebuildOptions): Promise<Rebuilt> {
  const { stage, bus, store, clock, onStep } = options;
  const counts = await partitionCounts({ stage, bus, ...patienceOf(options) });
  const partitions = counts.get(stage.input.name) ?? 0;
  const { generation, resumed } = await generationToBuild(options, partitions);
  onStep({ type: resumed ? 'resumed' : 'began', generation });

  const context = rebuildContext(options, counts);
  const open = async (): Promise<readonly RebuildPartition[]> => {
    const opened = Array.from({ length: partitions }, (_, partition) =>
      rebuildPartition({ context, bus, partition, generation }),
    );
    await inParallel(opened, partitions, (each) => each.prepare());
    return opened;
  };
  let all = await open();
  await options.threads?.ready;

  const standings = all.map((each) => each.standing());
  const foldedInThreads = all.map(() => 0);
  const records = (): number =>
    [...foldedInThreads, ...all.map((each) => each.folded())].reduce((sum, folded) => sum + folded, 0);
  const began = clock.now();
  const told = new AbortController();
  let inThreads = options.threads !== undefined;
  const telling = (async () => {
    while (!told.signal.aborted) {
      await clock.sleep(tellMs, told.signal);
      const partitions = inThreads ? [...standings] : all.map((each) => each.standing());
      onStep({ type: 'folding', partitions, folded: records() });
    }
  })();
  const catchUp = async (each: RebuildPartition): Promise<number> => {
    const before = each.folded();
    await each.catchUp();
    return each.folded() - before;
  };

  try {
    if (options.threads !== undefined) {
      await options.threads.fold({
        generation,
        partitions: standings.map(({ partition }) => partition),
        onStanding(standing, folded) {
          standings[standing.partition] = standing;
          foldedInThreads[standing.partition] = folded;
        },
      });
      // The state says how far they came.
      all = await open();
      inThreads = false;
    }
    // What moves on while the first partitions are caught up with is little, and less each time.
    for (let behind = Number.POSITIVE_INFINITY; behind > closeRecords; ) {
      behind = Math.max(0, ...(await inParallel(all, options.parallel, catchUp)));
    }
    // From here on owners write the rebuilt state, and readers see it as soon as it is where the other one ended.
    await inParallel(all, all.length, (each) => each.adopt());
    onStep({ type: 'switched', generation });
    await inParallel(all, options.parallel, async (each) => {
      while (!(await each.conclude())) {
        await catchUp(each);
        await clock.sleep(0);
      }
    });
  } finally {
    told.abort();
    await telling;
  }
  const foldMs = clock.now() - began;

  onStep({ type: 'removing' });
  await clock.sleep(options.graceMs);
  const removed = await inReach(() => store.discard({ stage: stage.name, partitions }), patienceOf(options));
  const shortened = all.flatMap((each) => (each.standing().start > 0n ? [each.standing().partition] : []));
  return { stage: stage.name, generation, resumed, partitions, records: records(), foldMs, shortened, removed };
}

/** Forgets a half-built state and removes it, and whatever else nobody uses. Throws `rebuild-adopted` once it is in use. */
export async function abandonRebuild(
  options: Pick<RebuildOptions, 'stage' | 'bus' | 'store' | 'clock' | 'runtime'>,
): Promise<{ readonly abandoned: number; readonly removed: number }> {
  const { stage, bus, store } = options;
  const topic: string = stage.input.name;
  const partitions = (await inReach(() => bus.offsets(topic), patienceOf(options)))?.length;
  if (partitions === undefined) throw new BusError('topic-missing', { topic });
  const all = await generationsOf(options, partitions);
  const drafts = new Set(all.map(({ draft }) => draft));
  const adopted = all.findIndex(({ previous, inUse }) => previous !== undefined || drafts.has(inUse));
  if (adopted >= 0) throw new BusError('rebuild-adopted', { stage: stage.name, partition: adopted });
  let abandoned = 0;
  for (const [partition, { draft }] of all.entries()) {
    if (draft === undefined) continue;
    const at = { stage: stage.name, partition };
    await inReach(() => store.generations(at, { do: 'abandon', generation: draft }), patienceOf(options));
    abandoned++;
  }
  const removed = await inReach(() => store.discard({ stage: stage.name, partitions }), patienceOf(options));
  return { abandoned, removed };
}

const tellMs = 500;

const patienceOf = ({ clock, runtime }: Pick<RebuildOptions, 'clock' | 'runtime'>) => ({
  clock,
  retryMs: runtime.retryMs,
});

const generationsOf = (
  options: Pick<RebuildOptions, 'stage' | 'store' | 'clock' | 'runtime'>,
  partitions: number,
): Promise<readonly Generations[]> =>
  Promise.all(
    Array.from({ length: partitions }, (_, partition) =>
      inReach(() => options.store.generations({ stage: options.stage.name, partition }), patienceOf(options)),
    ),
  );

/** The generation of a rebuild that was begun, or the next number that no partition has had. */
async function generationToBuild(
  options: RebuildOptions,
  partitions: number,
): Promise<{ readonly generation: number; readonly resumed: boolean }> {
  const all = await generationsOf(options, partitions);
  const begun = Math.max(0, ...all.map(({ draft, previous, inUse }) => draft ?? (previous === undefined ? 0 : inUse)));
  // A partition in which it was abandoned has no way back to that number.
  const canGoOn = all.every(({ inUse, draft, newest }) => inUse >= begun || draft === begun || newest < begun);
  if (begun > 0 && canGoOn) return { generation: begun, resumed: true };
  return { generation: 1 + Math.max(1, ...all.map(({ newest }) => newest)), resumed: false };
}

/** Runs work over all items, so many at once; answers in their order. */
async function inParallel<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}

import type { MessagePort, Worker } from 'node:worker_threads';
import { BusError, type ErrorCode } from '../errors.ts';
import { partitionCounts } from './partition-counts.ts';
import {
  type RebuildStanding,
  type RebuildSurroundings,
  rebuildContext,
  rebuildPartition,
} from './rebuild-partition.ts';

/** What a thread is asked for: to fold a partition of a generation as far as the live state stands. */
interface Order {
  readonly partition: number;
  readonly generation: number;
}

/** What a thread says. */
type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'standing'; readonly standing: RebuildStanding; readonly folded: number }
  | { readonly type: 'done'; readonly standing: RebuildStanding; readonly folded: number }
  | { readonly type: 'failed'; readonly code: ErrorCode; readonly details: BusError['details'] }
  | { readonly type: 'fault'; readonly text: string };

/** Threads that fold partitions of a draft. They share nothing: the state says where each of them stands. */
export interface RebuildThreads {
  /** Resolves when they are connected. */
  readonly ready: Promise<unknown>;
  /**
   * Folds partitions of a generation, each as far as the live state stands; `onStanding` is told the records that were
   * folded of a partition so far. Rejects with what stopped one of them.
   */
  readonly fold: (job: {
    readonly generation: number;
    readonly partitions: readonly number[];
    readonly onStanding: (standing: RebuildStanding, folded: number) => void;
  }) => Promise<void>;
  readonly close: () => Promise<void>;
}

const tellMs = 250;

/** Starts so many threads, each of which folds so many partitions at once. `start` makes one that calls `foldInThread`. */
export function startRebuildThreads(options: {
  readonly threads: number;
  readonly each: number;
  readonly start: () => Worker;
}): RebuildThreads {
  const failed = Promise.withResolvers<never>();
  // Whoever waits for a thread hears of it; nobody may wait just then.
  failed.promise.catch(() => undefined);
  let hear: (thread: Worker, report: Report) => void = () => undefined;
  let closing = false;

  const threads = Array.from({ length: options.threads }, () => {
    const thread = options.start();
    const ready = Promise.withResolvers<void>();
    thread.on('message', (report: Report) => {
      if (report.type === 'ready') ready.resolve();
      else if (report.type === 'failed') failed.reject(new BusError(report.code, report.details));
      else if (report.type === 'fault') failed.reject(new Error(report.text));
      else hear(thread, report);
    });
    thread.on('error', failed.reject);
    thread.on('exit', (code) => {
      if (!closing) failed.reject(new Error(`a thread of the rebuild ended with ${code}`));
    });
    return { thread, ready: ready.promise };
  });

  const ready = Promise.race([Promise.all(threads.map((each) => each.ready)), failed.promise]);
  // A thread that fails before it is ready is heard of by whoever waits for a fold, too.
  ready.catch(() => undefined);

  return {
    ready,

    async fold({ generation, partitions, onStanding }) {
      const queue = partitions.values();
      const all = Promise.withResolvers<void>();
      let left = partitions.length;
      const next = (thread: Worker): void => {
        const { value: partition } = queue.next();
        if (partition !== undefined) thread.postMessage({ partition, generation } satisfies Order);
      };
      hear = (thread, report) => {
        if (report.type !== 'standing' && report.type !== 'done') return;
        onStanding(report.standing, report.folded);
        if (report.type === 'standing') return;
        left--;
        if (left === 0) all.resolve();
        else next(thread);
      };
      if (left === 0) return;
      for (let turn = 0; turn < options.each; turn++) for (const { thread } of threads) next(thread);
      await Promise.race([all.promise, failed.promise]);
    },

    async close() {
      closing = true;
      await Promise.all(threads.map(({ thread }) => thread.terminate()));
    },
  };
}

/** Folds what it is told to through a port, until the thread that it runs in is ended. */
export async function foldInThread(port: MessagePort, open: () => Promise<RebuildSurroundings>): Promise<void> {
  const say = (report: Report): void => port.postMessage(report);
  const reporting = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (error instanceof BusError) say({ type: 'failed', code: error.code, details: error.details });
      else say({ type: 'fault', text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };

  await reporting(async () => {
    const surroundings = await open();
    const { stage, bus, clock, runtime } = surroundings;
    const counts = await partitionCounts({ stage, bus, clock, retryMs: runtime.retryMs });
    const context = rebuildContext(surroundings, counts);

    const fold = async ({ partition, generation }: Order): Promise<void> => {
      const folding = rebuildPartition({ context, bus, partition, generation });
      const standing = () => ({ standing: folding.standing(), folded: folding.folded() });
      const telling = setInterval(() => say({ type: 'standing', ...standing() }), tellMs);
      await folding.catchUp().finally(() => clearInterval(telling));
      say({ type: 'done', ...standing() });
    };
    port.on('message', (order: Order) => void reporting(() => fold(order)));
    say({ type: 'ready' });
  });
}

import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../errors.ts';
import type { CallAnswer, CallRequest } from '../stage/effects.ts';
import type { AnyStage } from '../stage/stage.ts';
import type { Bus, Membership, PartitionOwner, RecordBatch } from './bus.ts';
import { createCalls } from './calls.ts';
import type { Clock } from './clock.ts';
import type { Codec } from './codec.ts';
import { type FoldedRecord, isUnavailable } from './fold.ts';
import { inReach } from './in-reach.ts';
import { type Lag, lookAtLags, noLag, recordsLeft } from './lag.ts';
import type { Log } from './log.ts';
import { partitionCounts } from './partition-counts.ts';
import { allGuards, type Guards, type OpenPartition, openPartition, type PartitionContext } from './partition-owner.ts';
import type { RuntimeSettings } from './runtime-settings.ts';
import type { Sender } from './sender.ts';
import type { Store } from './store.ts';
import { type OpenTable, openTable } from './tables.ts';
import type { StageTracing } from './tracing/tracing.ts';

/** What the shell tells of a running stage, for metrics. */
export interface StageObserver {
  readonly folded: (stage: AnyStage, records: readonly FoldedRecord[]) => void;
  readonly batch: (stage: AnyStage, partition: number, batch: RecordBatch, ms: number) => void;
  readonly reopened: (stage: AnyStage, partition: number) => void;
}

/** What a stage runs on. */
export interface StageOptions {
  readonly stage: AnyStage;
  readonly settings: unknown;
  readonly bus: Bus;
  readonly store: Store;
  readonly codec: Codec;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly runtime: RuntimeSettings;
  readonly perform: (request: CallRequest) => Promise<CallAnswer>;
  readonly log: Log;
  readonly observer: StageObserver;
  readonly guards?: Guards;
  /** Gives up what the start waits for: it then rejects. */
  readonly stop?: AbortSignal;
  /** Absent while tracing is off. */
  readonly tracing?: StageTracing | undefined;
}

/** What is left in a partition, as its last batch or a later look at the log told. */
export interface PartitionLag {
  readonly partition: number;
  readonly records: bigint;
  /** Append time of the first record of the batch in work, else of the last record handled; undefined when none is left. */
  readonly since: number | undefined;
}

/** How a running stage does. */
export interface StageHealth {
  readonly stage: string;
  readonly ready: boolean;
  readonly heartbeatAt: number;
  readonly partitions: readonly number[];
  /** By opened partition: one that was lost is not among them. */
  readonly lags: readonly PartitionLag[];
  /** Rows of each table, by its name. */
  readonly tableRows: ReadonlyMap<string, number>;
  /** Commits that the group did not take, since the start. */
  readonly failedCommits: number;
  /** States that were lost whole and begin where their topic does now, since the start. */
  readonly truncatedStates: number;
  /** Messages rejected in a row for a fault of ours, in the partition that has most of them. */
  readonly rejectsInARow: number;
  /** Whether there were so many that the stage has stopped. */
  readonly breakerOpen: boolean;
  /** Partitions with records left that have not moved, since when (epoch milliseconds). */
  readonly stuckSince: number | undefined;
}

/** A stage at work. */
export interface RunningStage {
  readonly health: () => StageHealth;
  /** Rejects when the stage cannot go on; resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Finishes what runs, commits, leaves the group. */
  readonly stop: () => Promise<void>;
}

/** The consumer group of a stage. */
export const groupOf = (stage: string): string => `signalbox.${stage}`;

/** How often the log says that a stage waits, however often it tries. */
const waitingToldMs = 30_000;

interface Held {
  readonly open: OpenPartition;
  readonly lag: Lag;
}

/** Starts a stage: reads its tables whole, then joins its group. Throws `topic-missing`. */
export async function runStage(options: StageOptions): Promise<RunningStage> {
  const { stage, bus, store, codec, sender, clock, runtime, log, observer } = options;
  const input: Topic = stage.input;
  const held = new Map<number, Held>();
  const committed = new Map<number, bigint>();
  const running = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const leaving = Promise.withResolvers<void>();
  let toldAt = Number.NEGATIVE_INFINITY;
  const tellWaiting = (): void => {
    if (clock.now() - toldAt < waitingToldMs) return;
    toldAt = clock.now();
    log.warn({ stage: stage.name, code: 'infrastructure-unavailable' }, 'waiting');
  };
  const patience = {
    clock,
    retryMs: runtime.retryMs,
    onWait: tellWaiting,
    ...(options.stop !== undefined && { stop: options.stop }),
  };
  const counts = await partitionCounts({ stage, bus, ...patience });
  const tables: Record<string, unknown> = {};
  const opened = new Map<string, OpenTable<unknown>>();

  for (const [name, topic] of Object.entries((stage.tables ?? {}) as Record<string, Topic>)) {
    const table = await inReach(
      () =>
        openTable({
          topic,
          bus,
          codec,
          clock,
          retryMs: runtime.retryMs,
          onProblem: ({ offset, ...problem }) =>
            log.error(
              { stage: stage.name, ...problem, offset: String(offset) },
              'configuration record unreadable, last good one kept',
            ),
        }),
      patience,
    );
    opened.set(name, table);
    tables[name] = table.table;
  }
  await Promise.all([...opened.values()].map((table) => table.ready));

  let membership: Membership | undefined;
  let failedCommits = 0;
  let breakerOpen = false;
  let truncatedStates = 0;
  const calls = createCalls(options);

  const commit = async (): Promise<void> => {
    const moved = [...held].flatMap(([partition, { open }]): [number, bigint][] => {
      const offset = open.committable();
      return committed.get(partition) === offset ? [] : [[partition, offset]];
    });
    if (moved.length === 0 || membership === undefined) return;
    try {
      await membership.commit(new Map(moved));
    } catch (error) {
      failedCommits++;
      throw error;
    }
    for (const [partition, offset] of moved) committed.set(partition, offset);
  };

  const context: PartitionContext = {
    stage,
    settings: options.settings,
    tables,
    store,
    codec,
    sender,
    clock,
    runtime,
    partitionsOf(topic) {
      const count = counts.get(topic);
      if (count === undefined) throw new RangeError('a topic that the stage does not declare');
      return count;
    },
    guards: options.guards ?? allGuards,
    tracing: options.tracing,
    onFolded: (records) => observer.folded(stage, records),
    async onCalls(partition, pending) {
      // Uncommitted, a call would be made again after the store lost its newest writes. Where the partition goes to another
      // owner first, the attempt stays unanswered, as after a crash.
      while (held.has(partition)) {
        try {
          await commit();
          return await calls.start(partition, pending, () => {
            const mine = held.get(partition);
            if (mine !== undefined) mine.lag.movedAt = clock.now();
          });
        } catch (error) {
          if (!isUnavailable(error)) throw error;
          if (stopping.signal.aborted) return;
          await clock.sleep(runtime.retryMs, stopping.signal);
        }
      }
    },
  };

  const drop = (partition: number): void => {
    held.get(partition)?.open.close();
    held.delete(partition);
    committed.delete(partition);
  };

  const track = <T>(work: Promise<T>): Promise<T> => {
    running.add(work);
    const forget = () => running.delete(work);
    work.then(forget, forget);
    return work;
  };

  const owner: PartitionOwner = {
    async assigned(partition, position) {
      drop(partition);
      // Asked at each assignment: a rebuild may have put another generation in use.
      const { inUse } = await inReach(() => store.generations({ stage: stage.name, partition }), patience);
      const open = await openPartition(context, { stage: stage.name, partition, generation: inUse }, position);
      held.set(partition, { open, lag: noLag(open.next(), clock.now()) });
      const at = { stage: stage.name, partition, offset: String(open.next()) };
      log.debug(at, 'partition opened');
      if (open.isTruncated) {
        truncatedStates++;
        log.warn({ ...at, topic: input.name }, 'state lost, folded from what its topic still holds');
      }
      return open.next();
    },
    async batch(partition, batch) {
      const mine = held.get(partition);
      const first = batch.records[0]?.offset ?? batch.next;
      // Answered at once, it would be read again and again for as long as the stop takes.
      if (stopping.signal.aborted) await leaving.promise;
      if (mine === undefined || stopping.signal.aborted) return first;
      const started = clock.now();
      const { lag } = mine;
      if (recordsLeft(lag) === 0n) lag.movedAt = started;
      Object.assign(lag, { next: first, end: batch.end, since: batch.records[0]?.at });
      const handled = await track(mine.open.handle(batch.records)).catch((error: unknown) => {
        breakerOpen ||= error instanceof BusError && error.code === 'too-many-rejects';
        throw error;
      });
      observer.batch(stage, partition, batch, clock.now() - started);
      if (handled === 'reopen') {
        if (held.get(partition) === mine && !stopping.signal.aborted) {
          observer.reopened(stage, partition);
          log.warn({ stage: stage.name, partition }, 'state read again');
          membership?.reopen(partition);
        }
        return mine.open.next();
      }
      // A look meanwhile may have found a later end.
      Object.assign(lag, { next: batch.next, since: batch.records.at(-1)?.at, movedAt: clock.now() });
      // A batch may end in control records: they belong to no record, but were passed.
      const next = mine.open.next();
      if (next < batch.next && !stopping.signal.aborted) return batch.next;
      return next;
    },
    revoked: drop,
  };
  membership = await inReach(() => bus.join(groupOf(stage.name), input.name, owner), patience);

  const lookAt = async (partition: number, mine: Held, now: number): Promise<void> => {
    await mine.open.fireTimers();
    if (now - mine.open.idleSince() < runtime.fenceCheckMs) return;
    if ((await mine.open.checkFence()) === 'reopen' && held.get(partition) === mine) {
      observer.reopened(stage, partition);
      log.warn({ stage: stage.name, partition }, 'state read again');
      membership?.reopen(partition);
    }
  };

  // Side by side: one after the other, the timers of the last one would be late by what all the others take.
  const look = async (): Promise<void> => {
    const now = clock.now();
    const looks = await Promise.allSettled([...held].map(([partition, mine]) => lookAt(partition, mine, now)));
    const failures = looks.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    if (failures.length > 0) throw failures.find((failure) => !isUnavailable(failure)) ?? failures[0];
  };

  let committedAt = clock.now();
  const tick = async (): Promise<void> => {
    await look();
    if (clock.now() - committedAt < runtime.commitMs) return;
    committedAt = clock.now();
    await commit();
  };

  const ticking = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(runtime.tickMs, stopping.signal);
      try {
        await tick();
      } catch (error) {
        // The next tick tries again; what it does is safe to do late.
        if (!isUnavailable(error)) throw error;
        tellWaiting();
      }
    }
  })();

  const watchingLags = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(runtime.lagMs, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        const lags = new Map([...held].map(([partition, { lag }]) => [partition, lag]));
        await lookAtLags({ bus, topic: input.name, now: clock.now }, lags);
      } catch (error) {
        // Who waits for the log says so; what was known of the lag still is.
        if (!isUnavailable(error)) throw error;
      }
    }
  };

  const ended = Promise.race([membership.ended, Promise.all([ticking, watchingLags()]).then(() => membership.ended)]);
  log.info({ stage: stage.name }, 'stage started');

  return {
    ended,
    health() {
      const { joined, heartbeatAt, partitions } = membership.health();
      const stuck = [...held.values()].filter(({ lag }) => recordsLeft(lag) > 0n).map(({ lag }) => lag.movedAt);
      return {
        stage: stage.name,
        ready: joined,
        heartbeatAt,
        partitions,
        lags: [...held]
          .map(([partition, { lag }]) => ({
            partition,
            records: recordsLeft(lag),
            since: recordsLeft(lag) > 0n ? lag.since : undefined,
          }))
          .toSorted((a, b) => a.partition - b.partition),
        tableRows: new Map([...opened].map(([name, { size }]) => [name, size()])),
        failedCommits,
        truncatedStates,
        rejectsInARow: Math.max(0, ...[...held.values()].map(({ open }) => open.rejectsInARow())),
        breakerOpen,
        stuckSince: stuck.length === 0 ? undefined : Math.min(...stuck),
      };
    },
    async stop() {
      stopping.abort();
      for (const { open } of held.values()) open.finish();
      // A batch that runs may have calls to make yet.
      await Promise.allSettled([...running]);
      await calls.idle();
      try {
        await commit();
      } catch (error) {
        // Not committed means folded silently less far: nothing is lost, some outputs are sent again and dropped.
        log.warn({ stage: stage.name, code: error instanceof BusError ? error.code : 'unknown' }, 'last commit failed');
      }
      leaving.resolve();
      await membership.leave();
      for (const partition of held.keys()) drop(partition);
      await Promise.all([...opened.values()].map((table) => table.close()));
      log.info({ stage: stage.name }, 'stage stopped');
    },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { BusError } from '../../errors.ts';
import type { Membership, PartitionOwner } from '../bus.ts';
import type { Log } from '../log.ts';
import { type Cluster, type Consumer, createConsumer, type Kafka, type KafkaLimits } from './client.ts';
import { failureOf } from './failures.ts';
import { type FetchLoop, type FetchSink, startFetchLoop } from './fetch-loop.ts';
import { createLane, type Lane, type LanePosition } from './lane.ts';
import { within } from './within.ts';

/** What a membership needs of the bus around it. */
export interface MembershipOptions {
  readonly kafka: Kafka;
  readonly group: string;
  readonly topic: string;
  readonly owner: PartitionOwner;
  readonly limits: KafkaLimits;
  readonly log: Log;
  /** Where the group and the log stand, by partition. */
  readonly positions: () => Promise<(partition: number) => LanePosition>;
}

/**
 * Joins a group and stays in it: a client that failed is thrown away and replaced. The client's consumer only keeps the
 * place in the group; it pauses all partitions, and they are read beside it, so that the position of each is known to
 * the offset, a slow partition holds up no other one, and an offset that is no longer kept is an error, not a jump.
 */
export function joinGroup(options: MembershipOptions): Membership {
  const { group, topic, owner, limits, log } = options;
  // A lane outlives the loss of its partition: its running call must finish before the next assignment is handed out.
  const lanes = new Map<number, Lane>();
  const held = new Set<number>();
  const ended = Promise.withResolvers<void>();
  // Whoever does not look at it learns of the end by `health`.
  ended.promise.catch(() => undefined);
  const stop = Promise.withResolvers<void>();
  let leaving = false;
  let failure: { readonly error: unknown } | undefined;
  let current: { readonly consumer: Consumer; readonly loop: FetchLoop } | undefined;
  let joined = false;
  let heartbeatAt = Date.now();
  let generation = 0;
  let commits = 0;

  const fail = (error: unknown): void => {
    failure ??= { error };
    stop.resolve();
  };

  const laneOf = (partition: number): Lane => {
    const known = lanes.get(partition);
    if (known !== undefined) return known;
    const lane = createLane({ partition, owner, failed: fail, changed: () => current?.loop.wake() });
    lanes.set(partition, lane);
    return lane;
  };

  const give = (partitions: readonly number[]): void => {
    for (const partition of held) {
      if (partitions.includes(partition)) continue;
      held.delete(partition);
      laneOf(partition).close();
    }
    for (const partition of partitions) held.add(partition);
    open(partitions);
  };

  /** Asks until there is an answer, or nobody waits for it any more. */
  const positionsNow = (): ((partition: number) => Promise<LanePosition>) => {
    const asked = generation;
    const answer = (async () => {
      for (;;) {
        try {
          return await options.positions();
        } catch (error) {
          if (asked !== generation || leaving || failure !== undefined) throw error;
          log.warn({ topic, reason: String(error) }, 'positions unknown');
          await sleep(limits.retryMs);
        }
      }
    })();
    answer.catch(() => undefined);
    return async (partition) => (await answer)(partition);
  };

  const open = (partitions: readonly number[]): void => {
    const positions = positionsNow();
    for (const partition of partitions) laneOf(partition).open(() => positions(partition));
  };

  const onJoin = (consumer: Consumer, assigned: readonly number[]): void => {
    generation++;
    consumer.pause([{ topic }]);
    joined = true;
    heartbeatAt = Date.now();
    log.info({ topic, group, partitions: assigned }, 'joined the group');
    give(assigned);
  };

  /** Lets running calls finish: all of them before leaving, as many as there is time for before joining again. */
  const handOver = (): Promise<void> => {
    const running = Promise.all([...lanes.values()].map((lane) => lane.suspend()));
    return leaving ? running.then(() => undefined) : within(limits.handOverMs, running);
  };

  const sink: FetchSink = {
    topic,
    wanted: () => {
      const wanted = new Map<number, bigint>();
      for (const partition of held) {
        const offset = laneOf(partition).wanted();
        if (offset !== undefined) wanted.set(partition, offset);
      }
      return wanted;
    },
    busy: () => [...held].some((partition) => laneOf(partition).wanted() === undefined),
    deliver: (fetched) => laneOf(fetched.partition).deliver(fetched),
    outOfRange: (partitions: readonly number[]) => fail(new BusError('offset-gap', { topic, partitions })),
  };

  const commitHeld = async (offsets: readonly (readonly [number, bigint])[]): Promise<void> => {
    const before = commits;
    try {
      await current?.consumer.commitOffsets(
        offsets.map(([partition, offset]) => ({ topic, partition, offset: String(offset) })),
      );
    } catch (error) {
      throw failureOf('commit', error);
    }
    // The client says nothing when it passes over a commit, as it does while it is stopping.
    if (commits === before) throw failureOf('commit', new Error('no member of the group'));
  };

  /** One client, from its start until it crashes or is to stop. */
  const serve = async (): Promise<void> => {
    const { consumer, cluster } = createConsumer(options.kafka, {
      groupId: group,
      sessionTimeout: limits.sessionTimeoutMs,
      rebalanceTimeout: limits.rebalanceTimeoutMs,
      heartbeatInterval: limits.heartbeatMs,
      metadataMaxAge: limits.metadataMaxAgeMs,
      // With all partitions paused, this is how long the client sleeps between heartbeats.
      maxWaitTimeInMs: Math.min(250, limits.heartbeatMs),
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 4, restartOnFailure: async () => false },
    });
    beforeJoin(cluster, () => {
      joined = false;
      return handOver();
    });
    const crashed = Promise.withResolvers<unknown>();
    consumer.on('consumer.crash', ({ payload }) => crashed.resolve(payload.error));
    consumer.on('consumer.commit_offsets', () => void commits++);
    consumer.on('consumer.heartbeat', () => {
      heartbeatAt = Date.now();
    });
    consumer.on('consumer.group_join', ({ payload }) => onJoin(consumer, payload.memberAssignment[topic] ?? []));
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      current = { consumer, loop: startFetchLoop(cluster, sink, limits, log) };
      // Partitions are paused as soon as they are assigned: the client itself reads nothing.
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => undefined });
      const error = await Promise.race([crashed.promise, stop.promise]);
      if (error !== undefined) log.warn({ topic, group, reason: String(error) }, 'membership lost');
    } finally {
      joined = false;
      await handOver();
      current?.loop.stop();
      current = undefined;
      give([]);
      await within(limits.sessionTimeoutMs, consumer.disconnect());
    }
  };

  const supervise = async (): Promise<void> => {
    while (!leaving && failure === undefined) {
      try {
        await serve();
      } catch (error) {
        log.warn({ topic, group, reason: String(error) }, 'group out of reach');
      }
      if (!leaving && failure === undefined) await Promise.race([stop.promise, sleep(limits.retryMs)]);
    }
    if (failure === undefined) ended.resolve();
    else ended.reject(failure.error);
  };
  void supervise();

  return {
    ended: ended.promise,
    health: () => ({ joined, heartbeatAt, partitions: [...held].sort((a, b) => a - b) }),
    reopen(partition) {
      if (held.has(partition)) open([partition]);
    },
    async commit(offsets) {
      // What was lost meanwhile is another member's to commit, and the caller must not believe that it was committed.
      const mine = [...offsets].filter(([partition]) => held.has(partition));
      if (mine.length > 0) await commitHeld(mine);
      if (mine.length < offsets.size) throw failureOf('commit', new Error('partition lost'));
    },
    async leave() {
      leaving = true;
      stop.resolve();
      await ended.promise.catch(() => undefined);
    },
  };
}

/** Looking for the coordinator is the client's first step of each join: the one place where it can be made to wait. */
function beforeJoin(cluster: Cluster, wait: () => Promise<void>): void {
  const find = cluster.findGroupCoordinator.bind(cluster);
  cluster.findGroupCoordinator = async (request) => {
    await wait();
    return find(request);
  };
}

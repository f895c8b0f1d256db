import { setTimeout as sleep } from 'node:timers/promises';
import { BusError } from '../../errors.ts';
import type { Membership, PartitionOwner } from '../bus.ts';
import type { Log } from '../log.ts';
import type { Kafka, KafkaLimits } from './client.ts';
import { failureOf, reasonOf } from './failures.ts';
import { type FetchLoop, type FetchSink, startFetchLoop } from './fetch-loop.ts';
import { createGroupClient, type GroupClient } from './group-client.ts';
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
 * Joins a group and stays in it: a client that failed is thrown away and replaced. The client keeps the place in the
 * group; the partitions are read beside it, so that the position of each is known to the offset, a slow partition holds
 * up no other one, and an offset that is no longer kept is an error, not a jump.
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
  let stopping: 'left' | { readonly error: unknown } | undefined;
  let client: GroupClient | undefined;
  let loop: FetchLoop | undefined;
  let member: string | undefined;
  let joined = false;
  let away = false;
  let heartbeatAt = Date.now();
  let generation = 0;

  const fail = (error: unknown): void => {
    stopping ??= { error };
    stop.resolve();
  };

  const laneOf = (partition: number): Lane => {
    const known = lanes.get(partition);
    if (known !== undefined) return known;
    const lane = createLane({ partition, owner, failed: fail, changed: () => loop?.wake() });
    lanes.set(partition, lane);
    return lane;
  };

  /** Asks until there is an answer, or nobody waits for it any more. */
  const positionsNow = (): ((partition: number) => Promise<LanePosition>) => {
    const asked = generation;
    const answer = (async () => {
      for (;;) {
        try {
          return await options.positions();
        } catch (error) {
          if (asked !== generation || stopping !== undefined) throw error;
          log.debug({ topic, group, reason: reasonOf(error) }, 'positions unknown');
          await sleep(limits.retryMs);
        }
      }
    })();
    // The lanes that wait for it look at it; there may be none.
    answer.catch(() => undefined);
    return async (partition) => (await answer)(partition);
  };

  const open = (partitions: readonly number[]): void => {
    const positions = positionsNow();
    for (const partition of partitions) laneOf(partition).open(() => positions(partition));
  };

  /** These partitions are held from now on, and no others. */
  const hold = (partitions: readonly number[]): void => {
    generation++;
    for (const partition of held) {
      if (partitions.includes(partition)) continue;
      held.delete(partition);
      laneOf(partition).close();
    }
    for (const partition of partitions) held.add(partition);
  };

  /** Lets running calls finish: all of them before leaving, as many as there is time for before joining again. */
  const handOver = (): Promise<void> => {
    joined = false;
    const running = Promise.all([...lanes.values()].map((lane) => lane.suspend()));
    return stopping === 'left' ? running.then(() => undefined) : within(limits.handOverMs, running);
  };

  const sink: FetchSink = {
    topic,
    wanted() {
      const wanted = new Map<number, bigint>();
      for (const partition of held) {
        const offset = laneOf(partition).wanted();
        if (offset !== undefined) wanted.set(partition, offset);
      }
      return wanted;
    },
    busy: () => [...held].some((partition) => laneOf(partition).wanted() === undefined),
    deliver: (fetched) => laneOf(fetched.partition).deliver(fetched),
    outOfRange: (partitions) => fail(new BusError('offset-gap', { topic, partitions })),
  };

  /** One client, from its start until it crashes or is to stop. */
  const serve = async (): Promise<void> => {
    const present = createGroupClient({
      ...options,
      former: member,
      events: {
        joining: handOver,
        heartbeat() {
          heartbeatAt = Date.now();
        },
        joined(memberId, partitions) {
          member = memberId;
          joined = true;
          away = false;
          heartbeatAt = Date.now();
          log.info({ topic, group, partitions }, 'joined the group');
          hold(partitions);
          if (partitions.length > 0) open(partitions);
        },
      },
    });
    client = present;
    const running = async (): Promise<never> => {
      await present.start();
      // Whoever was told to stop while the join went unanswered has ended, and nobody would end this loop.
      if (client === present) loop = startFetchLoop(present.cluster, sink, limits, log);
      return present.crashed;
    };
    try {
      await Promise.race([running(), stop.promise]);
    } finally {
      await handOver();
      loop?.stop();
      loop = undefined;
      client = undefined;
      hold([]);
      await present.close();
    }
  };

  const supervise = async (): Promise<void> => {
    while (stopping === undefined) {
      try {
        await serve();
      } catch (error) {
        // Once for each time away, however often it is tried.
        if (away) log.debug({ topic, group, reason: reasonOf(error) }, 'group still out of reach');
        else log.warn({ topic, group, reason: reasonOf(error) }, 'group out of reach');
        away = true;
        if (stopping === undefined) await Promise.race([stop.promise, sleep(limits.retryMs)]);
      }
    }
    if (stopping === 'left') ended.resolve();
    else ended.reject(stopping.error);
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
      if (mine.length > 0) await client?.commit(mine);
      if (client === undefined || mine.length < offsets.size) throw failureOf('commit', new Error('partition lost'));
    },
    async leave() {
      stopping ??= 'left';
      stop.resolve();
      await ended.promise.catch(() => undefined);
    },
  };
}

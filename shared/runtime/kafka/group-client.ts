import { type Cluster, createConsumer, type Kafka, type KafkaLimits, leaveGroup } from './client.ts';
import { failureOf, isCausedBy } from './failures.ts';
import { within } from './within.ts';

/** A place in a group, as long as one client keeps it. */
export interface GroupClient {
  readonly cluster: Cluster;
  /** Joins, and heartbeats from then on. */
  readonly start: () => Promise<void>;
  /** Rejects when the client gives up. */
  readonly crashed: Promise<never>;
  readonly commit: (offsets: readonly (readonly [partition: number, offset: bigint])[]) => Promise<void>;
  /** Leaves the group. */
  readonly close: () => Promise<void>;
}

/** What a group client tells. */
export interface GroupEvents {
  /** It is about to join, for the first time or again; it waits for this. */
  readonly joining: () => Promise<void>;
  readonly joined: (memberId: string, partitions: readonly number[]) => void;
  readonly heartbeat: () => void;
}

/**
 * Makes a client that only keeps a place in a group: it pauses its partitions as they are assigned and reads nothing.
 * `former` is the place of a client before it that could not leave: the group would wait for it until its session ends.
 */
export function createGroupClient(options: {
  readonly kafka: Kafka;
  readonly group: string;
  readonly topic: string;
  readonly former: string | undefined;
  readonly limits: KafkaLimits;
  readonly events: GroupEvents;
}): GroupClient {
  const { group, topic, limits, events } = options;
  const { consumer, cluster } = createConsumer(options.kafka, {
    groupId: group,
    sessionTimeout: limits.sessionTimeoutMs,
    rebalanceTimeout: limits.rebalanceTimeoutMs,
    heartbeatInterval: limits.heartbeatMs,
    metadataMaxAge: limits.metadataMaxAgeMs,
    // With all partitions paused, this is how long the client sleeps between looks at its heartbeat.
    maxWaitTimeInMs: Math.min(250, limits.heartbeatMs),
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 4, restartOnFailure: async () => false },
  });
  let former = options.former;
  let commits = 0;

  // Looking for the coordinator is the client's first step of each join, and the one place where it can be made to wait.
  const find = cluster.findGroupCoordinator.bind(cluster);
  cluster.findGroupCoordinator = async (request) => {
    await events.joining();
    const coordinator = await find(request);
    if (former !== undefined) {
      try {
        await leaveGroup(coordinator, { groupId: group, memberId: former });
      } catch (error) {
        if (!isCausedBy(error, 'UNKNOWN_MEMBER_ID')) throw error;
      }
      former = undefined;
    }
    return coordinator;
  };

  const crashed = new Promise<never>((_, reject) => {
    consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
  });
  crashed.catch(() => undefined);
  consumer.on('consumer.commit_offsets', () => void commits++);
  consumer.on('consumer.heartbeat', events.heartbeat);
  consumer.on('consumer.group_join', ({ payload }) => {
    consumer.pause([{ topic }]);
    events.joined(payload.memberId, payload.memberAssignment[topic] ?? []);
  });

  return {
    cluster,
    crashed,

    async start() {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => undefined });
    },

    async commit(offsets) {
      const before = commits;
      try {
        await consumer.commitOffsets(
          offsets.map(([partition, offset]) => ({ topic, partition, offset: String(offset) })),
        );
      } catch (error) {
        throw failureOf('commit', error);
      }
      // The client says nothing when it passes over a commit, as it does while it is stopping.
      if (commits === before) throw failureOf('commit', new Error('no member of the group'));
    },

    close: () => within(limits.handOverMs, consumer.disconnect()),
  };
}

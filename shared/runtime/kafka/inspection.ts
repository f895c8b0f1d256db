import type { Bus, BusInspection, TopicInspection, VersionRange } from '../bus.ts';
import { refusedRequests } from '../protocol-versions.ts';
import { type Admin, type Cluster, createConsumer, type Kafka, knownRequests, topicResource } from './client.ts';

/** The requests that the shell makes, by the client's names. */
export const madeRequests: readonly string[] = [
  'ApiVersions',
  'Metadata',
  'Produce',
  'Fetch',
  'ListOffsets',
  'GroupCoordinator',
  'JoinGroup',
  'SyncGroup',
  'Heartbeat',
  'LeaveGroup',
  'OffsetCommit',
  'OffsetFetch',
  'DescribeGroups',
  'DescribeConfigs',
  'CreateTopics',
];

/** Asks for brokers, topics and groups; for brokers alone, where they take too little to be asked more. */
export async function inspect(
  kafka: Kafka,
  admin: Admin,
  wanted: Parameters<Bus['inspect']>[0],
): Promise<BusInspection> {
  const brokers = await inspectBrokers(kafka);
  if (refusedRequests(brokers.requests).length > 0) return { ...brokers, topics: new Map(), groupMembers: new Map() };
  return { ...brokers, ...(await inspectTopics(admin, wanted)) };
}

/** Asks each broker which requests it takes. A range that not all brokers take is no range. */
async function inspectBrokers(kafka: Kafka): Promise<Pick<BusInspection, 'brokers' | 'requests'>> {
  // It never joins: it is how the client gives its connections away.
  const { cluster } = createConsumer(kafka, { groupId: 'signalbox.inspection' });
  try {
    await cluster.connect();
    const first = requestsOf([await seedOf(cluster).apiVersions()]);
    // Who the others are could not even be asked.
    if (refusedRequests(first).length > 0) return { brokers: 1, requests: first };
    await cluster.refreshMetadata();
    const answers = await Promise.all(
      cluster.getNodeIds().map(async (nodeId) => (await cluster.findBroker({ nodeId: String(nodeId) })).apiVersions()),
    );
    return { brokers: answers.length, requests: requestsOf(answers) };
  } finally {
    await cluster.disconnect();
  }
}

type Versions = Readonly<Record<number, { readonly minVersion: number; readonly maxVersion: number } | undefined>>;

interface Asked {
  readonly apiVersions: () => Promise<Versions>;
}

/** The broker that a connected client met first, among the addresses that it was given. */
function seedOf(cluster: Cluster): Asked {
  // The client's types leave this member out.
  const { seedBroker } = (cluster as Cluster & { readonly brokerPool: { readonly seedBroker?: Asked } }).brokerPool;
  if (seedBroker === undefined) throw new TypeError('the client no longer keeps the broker that it met first');
  return seedBroker;
}

const requestsOf = (answers: readonly Versions[]): BusInspection['requests'] =>
  knownRequests(madeRequests).map(({ name, key, min, max }) => ({
    name,
    made: { min, max },
    taken: common(
      answers.map((versions) => versions[key]).map((each) => each && { min: each.minVersion, max: each.maxVersion }),
    ),
  }));

/** The versions that all ranges have in common; undefined when there is none, or one of them is missing. */
function common(ranges: readonly (VersionRange | undefined)[]): VersionRange | undefined {
  const there = ranges.filter((range) => range !== undefined);
  if (there.length === 0 || there.length < ranges.length) return undefined;
  const all = { min: Math.max(...there.map(({ min }) => min)), max: Math.min(...there.map(({ max }) => max)) };
  return all.min <= all.max ? all : undefined;
}

async function inspectTopics(
  admin: Admin,
  wanted: Parameters<Bus['inspect']>[0],
): Promise<Pick<BusInspection, 'topics' | 'groupMembers'>> {
  const known = new Set(wanted.topics.length === 0 ? [] : await admin.listTopics());
  const names = wanted.topics.filter((name) => known.has(name));
  const configs = new Map<string, Readonly<Record<string, string>>>();
  const topics = new Map<string, TopicInspection>();
  // Without names the client would ask for all topics there are.
  if (names.length > 0) {
    const described = await admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({ type: topicResource, name })),
    });
    for (const { resourceName, configEntries } of described.resources) {
      const entries = configEntries.map(({ configName, configValue }) => [configName, configValue] as const);
      configs.set(resourceName, Object.fromEntries(entries));
    }
    const metadata = await admin.fetchTopicMetadata({ topics: names });
    for (const { name, partitions } of metadata.topics) {
      topics.set(name, {
        partitions: partitions.length,
        replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        inSync: Math.min(...partitions.map(({ isr }) => isr.length)),
        leaderless: partitions.filter(({ leader }) => leader < 0).length,
        config: configs.get(name) ?? {},
      });
    }
  }
  const { groups } = wanted.groups.length === 0 ? { groups: [] } : await admin.describeGroups([...wanted.groups]);
  return { topics, groupMembers: new Map(groups.map(({ groupId, members }) => [groupId, members.length])) };
}

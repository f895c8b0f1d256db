import type { Topic } from '../../../schemas/define.ts';
import { errors } from '../../../shared/errors.ts';
import type { BusInspection } from '../../../shared/runtime/bus.ts';
import { topicShapeOf } from '../../../shared/topic-config.ts';
import { broken, type Check, checkOf, counted, doubtful, type Finding } from './check.ts';

/** What the topics should be. */
export interface TopicDeployment {
  readonly partitions: number;
  readonly replicas: number;
}

type Inspected = Pick<BusInspection, 'brokers' | 'topics'>;

/** Every topic is there, in the number of partitions that keys are spread over. */
export function checkTopics(topics: readonly Topic[], deployment: TopicDeployment, inspected: Inspected): Check {
  const found = topics.flatMap(({ name }): readonly Finding[] => {
    const topic = inspected.topics.get(name);
    if (topic === undefined) return [broken(`${name} does not exist`, errors['topic-missing'].fix)];
    if (topic.partitions === deployment.partitions) return [];
    const has = `${name} has ${counted(topic.partitions, 'partition')}`;
    const fix = errors['partition-count-changed'].fix;
    return [broken(`${has}, and SIGNALBOX_PARTITIONS is ${deployment.partitions}`, fix)];
  });
  return checkOf('topics', found, {
    well: `${topics.length} of ${counted(deployment.partitions, 'partition')} each`,
    notWell: `${found.length} of ${topics.length} are not as they should be`,
  });
}

// Without these, what the stages rely on does not hold; the others change how much is kept.
const relied = ['cleanup.policy', 'message.timestamp.type', 'compression.type'];

/** The settings of every topic are those that it was declared with. */
export function checkTopicSettings(topics: readonly Topic[], deployment: TopicDeployment, inspected: Inspected): Check {
  const found = topics.flatMap((topic): readonly Finding[] => {
    const actual = inspected.topics.get(topic.name)?.config;
    if (actual === undefined) return [];
    return Object.entries(topicShapeOf(topic, deployment).config).flatMap(([setting, wanted]) => {
      const is = actual[setting];
      if (is === wanted) return [];
      const smaller = setting === 'max.message.bytes' && Number(is ?? 0) < Number(wanted);
      const report = relied.includes(setting) || smaller ? broken : doubtful;
      return [
        report(
          `${topic.name}: ${setting} is ${is ?? 'not set'}, declared is ${wanted}`,
          `kafka-configs.sh --bootstrap-server … --alter --entity-type topics --entity-name ${topic.name} --add-config ${setting}=${wanted}`,
        ),
      ];
    });
  });
  return checkOf('topic settings', found, {
    well: 'as declared',
    notWell: `${counted(found.length, 'setting')} other than declared`,
  });
}

/** Every partition has a leader and all of its copies. */
export function checkReplicas(deployment: TopicDeployment, { brokers, topics }: Inspected): Check {
  const few = broken(
    `SIGNALBOX_REPLICAS is ${deployment.replicas}, and there ${brokers === 1 ? 'is 1 broker' : `are ${brokers} brokers`}`,
    'Start more brokers, or lower SIGNALBOX_REPLICAS.',
  );
  const found = [...topics].flatMap(([name, { replicas, inSync, leaderless }]): readonly Finding[] => {
    if (leaderless > 0) {
      const detail = `${name}: ${counted(leaderless, 'partition')} without a leader`;
      return [broken(detail, 'Start the brokers that are away.')];
    }
    if (inSync < replicas) {
      const detail = `${name}: a partition has ${inSync} of ${replicas} copies in sync`;
      return [doubtful(detail, 'Start the brokers that are away, or wait until they have caught up.')];
    }
    if (replicas < deployment.replicas) {
      const detail = `${name}: copies of each record: ${replicas}, and SIGNALBOX_REPLICAS is ${deployment.replicas}`;
      const fix = 'Add copies with kafka-reassign-partitions.sh, or set SIGNALBOX_REPLICAS to the number that exists.';
      return [doubtful(detail, fix)];
    }
    return [];
  });
  return checkOf('copies', brokers < deployment.replicas ? [few, ...found] : found, {
    well:
      deployment.replicas === 1
        ? 'one of each record; 3 in production'
        : `${deployment.replicas} of each record, all in sync`,
    notWell: 'not every record has its copies',
  });
}

/** What the registry has of a topic's schema. */
export interface SchemaState {
  readonly topic: string;
  readonly state: 'registered' | 'absent' | 'incompatible';
}

function findingsOf({ topic, state }: SchemaState): readonly Finding[] {
  switch (state) {
    case 'registered':
      return [];
    case 'absent':
      return [broken(`${topic}: not registered`, errors['schema-missing'].fix)];
    case 'incompatible':
      return [
        broken(`${topic}: not registered, and breaks readers of older records`, errors['schema-incompatible'].fix),
      ];
  }
}

/** Every topic's present schema is registered; else those who write it do not start. */
export function checkSchemas(schemas: readonly SchemaState[]): Check {
  const found = schemas.flatMap(findingsOf);
  return checkOf('schemas', found, {
    well: `${schemas.length} registered`,
    notWell: `${found.length} of ${schemas.length} are not registered`,
  });
}

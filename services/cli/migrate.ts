import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../../shared/errors.ts';
import { jsonSchemaText, subjectOf } from '../../shared/json-schema.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import type { SchemaRegistry } from '../../shared/runtime/schema-registry.ts';
import type { Store } from '../../shared/runtime/store.ts';
import { topicShapeOf } from '../../shared/topic-config.ts';

/** What a migration did for one topic. */
export interface MigratedTopic {
  readonly topic: string;
  readonly partitions: number;
  readonly log: 'created' | 'unchanged';
  readonly schema: 'registered' | 'unchanged';
  readonly schemaId: number;
}

/**
 * Brings the log and the registry to what the topics declare. Doing it again changes nothing. Throws `redis-may-evict`,
 * `partition-count-changed` or `schema-incompatible`, each before anything was changed.
 */
export async function migrate(
  topics: readonly Topic[],
  deployment: { readonly partitions: number; readonly replicas: number },
  { bus, store, registry }: { readonly bus: Bus; readonly store: Store; readonly registry: SchemaRegistry },
): Promise<readonly MigratedTopic[]> {
  await store.check();
  const present = new Map<string, number>();
  for (const { name } of topics) {
    const offsets = await bus.offsets(name);
    if (offsets !== undefined) present.set(name, offsets.length);
  }
  const changed = [...present].filter(([, partitions]) => partitions !== deployment.partitions);
  if (changed.length > 0) {
    throw new BusError('partition-count-changed', {
      SIGNALBOX_PARTITIONS: deployment.partitions,
      topics: changed.map(([name, partitions]) => `${name} has ${partitions}`),
    });
  }

  for (const topic of topics) await registry.check(subjectOf(topic), jsonSchemaText(topic));

  const migrated: MigratedTopic[] = [];
  for (const topic of topics) {
    const [subject, text] = [subjectOf(topic), jsonSchemaText(topic)];
    const known = await registry.idOf(subject, text);
    migrated.push({
      topic: topic.name,
      partitions: deployment.partitions,
      log: present.has(topic.name) ? 'unchanged' : 'created',
      schema: known === undefined ? 'registered' : 'unchanged',
      schemaId: known ?? (await registry.register(subject, text)),
    });
  }
  const absent = topics.filter(({ name }) => !present.has(name));
  if (absent.length > 0) await bus.createTopics(absent.map((topic) => topicShapeOf(topic, deployment)));
  return migrated;
}

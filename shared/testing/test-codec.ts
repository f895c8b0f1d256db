import type { Topic } from '../../schemas/define.ts';
import { type Codec, createCodec } from '../runtime/codec.ts';
import type { SchemaRegistry } from '../runtime/schema-registry.ts';

/** A codec whose topics are all registered. */
export async function testCodec(topics: readonly Topic[]): Promise<Codec> {
  const ids = new Map(topics.map((topic, index) => [`${topic.name}-value`, index + 1]));
  const registry: SchemaRegistry = {
    idOf: async (subject) => ids.get(subject),
    lookUp: async (id) => (id > 0 && id <= ids.size ? { type: 'known', subject: undefined } : { type: 'unknown' }),
    check: async () => undefined,
    register: async (subject) => ids.get(subject) ?? 0,
  };
  return createCodec({ registry, writes: topics });
}

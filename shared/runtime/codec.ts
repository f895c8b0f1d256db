import { z } from 'zod';
import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../errors.ts';
import { jsonSchemaText, subjectOf } from '../json-schema.ts';
import { safeParse } from '../safe-parse.ts';
import type { SchemaRegistry } from './schema-registry.ts';

/** What the bytes of a record turned out to be. `unknown-type`: a member of the union that this reader is older than. */
export type Decoded<V> =
  | { readonly type: 'value'; readonly value: V }
  | { readonly type: 'unknown-type' }
  | {
      readonly type: 'poison';
      readonly code: 'frame-invalid' | 'schema-unknown' | 'contract-violated';
      readonly details: Readonly<Record<string, string | number>>;
    };

/** Values to bytes and back, in the Confluent wire format: a zero byte, the schema's id, JSON. */
export interface Codec {
  /** Throws `contract-violated` when the value does not fit its topic, `schema-missing` for a topic it was not made for. */
  readonly encode: <V>(topic: Topic<V>, value: V) => Buffer;
  /** Bytes that `encode` would not exceed, three times as many at most; throws where it throws. */
  readonly bytesAtMost: <V>(topic: Topic<V>, value: V) => number;
  /** Waits only for a schema id that was never seen before. Rejects with `infrastructure-unavailable`. */
  readonly decode: <V>(topic: Topic<V>, bytes: Buffer | null) => Decoded<V> | Promise<Decoded<V>>;
}

const frameBytes = 5;
/** In UTF-8, at most: what takes four bytes is two characters of a string. */
const bytesPerCharacter = 3;

/** Resolves the ids of the topics that are written. Throws `schema-missing` when one is not registered. */
export async function createCodec(options: {
  readonly registry: SchemaRegistry;
  readonly writes: readonly Topic[];
}): Promise<Codec> {
  const ids = new Map<string, number>();
  const known = new Set<number>();
  await Promise.all(
    options.writes.map(async (topic) => {
      const id = await options.registry.idOf(subjectOf(topic), jsonSchemaText(topic));
      if (id === undefined) throw new BusError('schema-missing', { topic: topic.name });
      ids.set(topic.name, id);
      known.add(id);
    }),
  );

  const parse = <V>(topic: Topic<V>, bytes: Buffer): Decoded<V> => {
    let json: unknown;
    try {
      json = JSON.parse(bytes.toString('utf8', frameBytes));
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      return { type: 'poison', code: 'frame-invalid', details: { problem: 'not JSON' } };
    }
    const parsed = safeParse(topic.value, json);
    if (parsed.success) return { type: 'value', value: parsed.data };
    if (isNewerType(topic.value, json)) return { type: 'unknown-type' };
    return { type: 'poison', code: 'contract-violated', details: issueDetails(parsed.error) };
  };

  const written = <V>(topic: Topic<V>, value: V): { readonly id: number; readonly json: string } => {
    const id = ids.get(topic.name);
    if (id === undefined) throw new BusError('schema-missing', { topic: topic.name });
    const parsed = safeParse(topic.value, value);
    if (!parsed.success) throw new BusError('contract-violated', { topic: topic.name, ...issueDetails(parsed.error) });
    return { id, json: JSON.stringify(parsed.data) };
  };

  return {
    bytesAtMost: (topic, value) => frameBytes + bytesPerCharacter * written(topic, value).json.length,
    encode(topic, value) {
      const { id, json } = written(topic, value);
      const frame = Buffer.allocUnsafe(frameBytes + Buffer.byteLength(json, 'utf8'));
      frame.writeUInt8(0, 0);
      frame.writeInt32BE(id, 1);
      frame.write(json, frameBytes, 'utf8');
      return frame;
    },
    decode(topic, bytes) {
      if (bytes === null) return { type: 'poison', code: 'frame-invalid', details: { problem: 'no value' } };
      if (bytes.length <= frameBytes || bytes[0] !== 0) {
        return { type: 'poison', code: 'frame-invalid', details: { bytes: bytes.length } };
      }
      const id = bytes.readInt32BE(1);
      if (known.has(id)) return parse(topic, bytes);
      return options.registry.lookUp(id).then((found) => {
        if (found.type === 'unknown') return { type: 'poison', code: 'schema-unknown', details: { schemaId: id } };
        known.add(id);
        return parse(topic, bytes);
      });
    },
  };
}

/** Names the places where a value breaks its contract: paths and codes, never the values. */
function issueDetails(error: z.ZodError): Record<string, string> {
  const shown = error.issues.slice(0, 5).map((issue) => `${issue.path.join('.') || '(whole value)'}: ${issue.code}`);
  return { issues: shown.join('; ') };
}

/** Whether a value is a member of a tagged union that its reader does not know yet. */
function isNewerType(schema: z.ZodType, json: unknown): boolean {
  if (!(schema instanceof z.ZodDiscriminatedUnion) || typeof json !== 'object' || json === null) return false;
  const tag: unknown = Reflect.get(json, schema.def.discriminator);
  if (typeof tag !== 'string') return false;
  return !schema.options.some((option) => {
    const member = option instanceof z.ZodObject ? option.shape[schema.def.discriminator] : undefined;
    return member instanceof z.ZodLiteral && member.values.has(tag);
  });
}

import { SchemaRegistry as RegistryClient, SchemaType } from '@kafkajs/confluent-schema-registry';
import { z } from 'zod';
import { BusError } from '../errors.ts';
import type { SchemaRegistrySettings } from './connection-settings.ts';
import type { SchemaLookup, SchemaRegistry } from './schema-registry.ts';

const Answer = z.object({
  id: z.int().optional(),
  schema: z.string().optional(),
  is_compatible: z.boolean().optional(),
  error_code: z.int().optional(),
  message: z.string().optional(),
});
type Answer = z.infer<typeof Answer>;

const requestTimeoutMs = 10_000;
const unknownForMs = 30_000;
const maxUnknown = 1_000;

// The registry's own codes: a bare 404 may as well come from a proxy, or from a wrong address.
const subjectNotFound = 40401;
const schemaNotFound = 40403;

/** The registry behind a Confluent API. Nothing is asked before the first use, and nothing but `register` changes it. */
export function createSchemaRegistry(settings: SchemaRegistrySettings): SchemaRegistry {
  const { username, password } = settings;
  const account =
    username === undefined || password === undefined ? undefined : { username, password: password.reveal() };
  const url = settings.url.replace(/\/+$/, '');
  const client = new RegistryClient({
    host: url,
    // The shell repeats, and decides for how long.
    retry: { retries: 0 },
    middlewares: [() => ({ prepareRequest: async (next) => (await next()).enhance({ timeout: requestTimeoutMs }) })],
    ...(account !== undefined && { auth: account }),
  });
  const unknownSince = new Map<number, number>();

  const request = async (
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly answer: Answer }> => {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          accept: 'application/vnd.schemaregistry.v1+json, application/json',
          'content-type': 'application/vnd.schemaregistry.v1+json',
          ...(account !== undefined && {
            authorization: `Basic ${Buffer.from(`${account.username}:${account.password}`, 'utf8').toString('base64')}`,
          }),
        },
        signal: AbortSignal.timeout(requestTimeoutMs),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      // What is not the registry's JSON tells nothing, whatever its status.
      const parsed = Answer.safeParse(response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : {});
      return { status: response.status, answer: parsed.success ? parsed.data : {} };
    } catch (error) {
      throw unavailable(path, error);
    }
  };

  const refused = (path: string, status: number, { error_code: code, message }: Answer): BusError =>
    unavailable(path, new Error(`status ${status}, code ${code ?? 'none'}: ${message ?? 'no message'}`));

  const bodyOf = (schema: string) => ({ schemaType: SchemaType.JSON, schema });

  const idOf = async (subject: string, schema: string): Promise<number | undefined> => {
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const { status, answer } = await request('POST', path, bodyOf(schema));
    if (status === 200 && answer.id !== undefined) return answer.id;
    if (answer.error_code === subjectNotFound || answer.error_code === schemaNotFound) return undefined;
    throw refused(path, status, answer);
  };

  const exists = async (subject: string): Promise<boolean> => {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const { status, answer } = await request('GET', path);
    if (status === 200) return true;
    if (answer.error_code === subjectNotFound) return false;
    throw refused(path, status, answer);
  };

  const requireBackward = async (subject: string): Promise<void> => {
    const path = `/config/${encodeURIComponent(subject)}`;
    const { status, answer } = await request('PUT', path, { compatibility: 'BACKWARD' });
    if (status !== 200) throw refused(path, status, answer);
  };

  const add = async (subject: string, schema: string): Promise<number> => {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const { status, answer } = await request('POST', path, bodyOf(schema));
    if (status === 200 && answer.id !== undefined) return answer.id;
    if (status === 409) throw new BusError('schema-incompatible', { subject, registry: answer.message ?? '' });
    throw refused(path, status, answer);
  };

  /** What the client says of a missing id is only a status; the registry itself is asked for its code. */
  const isUnknown = async (id: number): Promise<boolean> => {
    const path = `/schemas/ids/${id}`;
    const { status, answer } = await request('GET', path);
    if (answer.error_code === schemaNotFound) return true;
    if (status === 200 && answer.schema !== undefined) return false;
    throw refused(path, status, answer);
  };

  const remember = (id: number): void => {
    unknownSince.set(id, Date.now());
    const [oldest] = unknownSince.keys();
    if (unknownSince.size > maxUnknown && oldest !== undefined) unknownSince.delete(oldest);
  };

  return {
    idOf,

    async lookUp(id): Promise<SchemaLookup> {
      // Four bytes of a frame may say anything; a registry answers such a path as if the path were wrong.
      if (id <= 0) return { type: 'unknown' };
      const since = unknownSince.get(id);
      if (since !== undefined && Date.now() - since < unknownForMs) return { type: 'unknown' };
      unknownSince.delete(id);
      try {
        await client.getSchema(id);
      } catch {
        // The client reports a registry that is away as a bad request, and fails on schemas that it cannot compile.
        if (await isUnknown(id)) {
          remember(id);
          return { type: 'unknown' };
        }
      }
      return { type: 'known', subject: undefined };
    },

    async check(subject, schema) {
      if (!(await exists(subject)) || (await idOf(subject, schema)) !== undefined) return;
      await requireBackward(subject);
      const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions/latest`;
      const { status, answer } = await request('POST', path, bodyOf(schema));
      if (status !== 200 || answer.is_compatible === undefined) throw refused(path, status, answer);
      if (!answer.is_compatible) throw new BusError('schema-incompatible', { subject });
    },

    async register(subject, schema) {
      const found = await idOf(subject, schema);
      // Apicurio compares nothing unless it is told to, and older ones cannot be told before the subject exists.
      if (found !== undefined || (await exists(subject))) await requireBackward(subject);
      if (found !== undefined) return found;
      const id = await add(subject, schema);
      await requireBackward(subject);
      return id;
    },
  };
}

const unavailable = (path: string, cause: unknown): BusError =>
  new BusError('infrastructure-unavailable', { system: 'schema-registry', operation: path }, cause);

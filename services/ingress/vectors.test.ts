import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { sealConnection } from '../../shared/connection.ts';
import type { AnyProvider } from '../../shared/provider.ts';
import { provider as github } from '../../shared/providers/github/index.ts';
import { provider as standardWebhooks } from '../../shared/providers/standard-webhooks/index.ts';
import { edgeUnderTest, keys, now } from './edge-under-test.ts';

const Vector = z.object({
  name: z.string(),
  scheme: z.enum(['github-hmac-sha256', 'standard-webhooks']),
  secret: z.string(),
  headers: z.record(z.string(), z.string()),
  rawBody: z.string(),
  /** Seconds; absent where the scheme has no time. */
  now: z.int().optional(),
  valid: z.boolean(),
});
type Vector = z.infer<typeof Vector>;

const file = new URL('./fixtures/signatures.json', import.meta.url);
const { vectors } = z.object({ vectors: z.array(Vector) }).parse(JSON.parse(readFileSync(file, 'utf8')));
const ofScheme = (scheme: Vector['scheme']) => vectors.filter((vector) => vector.scheme === scheme);

/** Sends a vector through an edge whose one connection has its secret. */
async function send(
  vector: Vector,
  from: { readonly provider: AnyProvider; readonly config: object; readonly headers: Readonly<Record<string, string>> },
) {
  const { provider } = from;
  const config = { ...from.config, webhookSecret: vector.secret };
  const edge = edgeUnderTest({
    providers: new Map([[provider.name, provider]]),
    stored: [sealConnection({ id: 'octo', config }, { provider, keys, now })],
    now: () => (vector.now === undefined ? now : vector.now * 1_000),
  });
  const parse = vi.spyOn(JSON, 'parse');
  const response = await edge.app.inject({
    method: 'POST',
    url: `/webhooks/v1/${provider.name}/octo/events`,
    headers: { 'content-type': 'application/json', ...from.headers, ...vector.headers },
    payload: vector.rawBody,
  });
  const isRead = parse.mock.calls.length > 0;
  return { status: response.statusCode, isRead, bodies: edge.published.map((fact) => fact.body) };
}

afterEach(() => {
  vi.restoreAllMocks();
});

const refused = { status: 401, isRead: false, bodies: [] };
const expected = (vector: Vector) => (vector.valid ? { status: 200, isRead: true, bodies: [vector.rawBody] } : refused);

describe('github', () => {
  const from = {
    provider: github,
    config: {},
    headers: { 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958', 'x-github-event': 'issues' },
  };
  const [genuine] = ofScheme('github-hmac-sha256');

  test.each(ofScheme('github-hmac-sha256').map((vector) => [vector.name, vector] as const))('%s', async (_, vector) => {
    expect(await send(vector, from)).toEqual(expected(vector));
  });

  test('a genuine webhook without its signature is refused', async () => {
    expect(genuine?.valid).toBe(true);
    expect(await send(Vector.parse({ ...genuine, headers: {} }), from)).toEqual(refused);
  });

  test('a genuine webhook without its delivery id is no webhook', async () => {
    const nameless = { ...from, headers: { 'x-github-event': 'issues' } };
    expect(await send(Vector.parse(genuine), nameless)).toEqual({ status: 400, isRead: false, bodies: [] });
  });
});

describe('standard-webhooks', () => {
  const from = { provider: standardWebhooks, config: {}, headers: {} };
  const [genuine] = ofScheme('standard-webhooks');

  test.each(ofScheme('standard-webhooks').map((vector) => [vector.name, vector] as const))('%s', async (_, vector) => {
    expect(await send(vector, from)).toEqual(expected(vector));
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'a genuine webhook without %s is refused',
    async (name) => {
      expect(genuine?.valid).toBe(true);
      const headers = Object.fromEntries(Object.entries(genuine?.headers ?? {}).filter(([header]) => header !== name));
      expect(await send(Vector.parse({ ...genuine, headers }), from)).toEqual(refused);
    },
  );

  test('a genuine webhook of five minutes ago is taken, and one second later refused', async () => {
    const at = (seconds: number) => send(Vector.parse({ ...genuine, now: (genuine?.now ?? 0) + seconds }), from);
    expect([(await at(300)).status, (await at(301)).status]).toEqual([200, 401]);
  });
});

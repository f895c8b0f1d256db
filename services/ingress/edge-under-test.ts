import { z } from 'zod';
import type { Connection } from '../../schemas/connection.ts';
import { connections } from '../../schemas/connection.ts';
import type { Decision } from '../../schemas/decision.ts';
import type { RawProviderFact } from '../../schemas/raw-provider-fact.ts';
import { readConfig } from '../../shared/config.ts';
import { sealConnection } from '../../shared/connection.ts';
import { type AnyProvider, defineProvider } from '../../shared/provider.ts';
import type { Log } from '../../shared/runtime/log.ts';
import { tableOf } from '../../shared/runtime/tables.ts';
import { KeyRing } from '../../shared/sealing.ts';
import { type Secret, secret } from '../../shared/secret.ts';
import { hmac, isEqual } from '../../shared/signature.ts';
import { config, type IngressSettings } from './config.ts';
import { buildIngress, type IngressOptions } from './ingress.ts';
import type { Outcome } from './outcome.ts';

export const now = 1_929_952_800_000;
export const keys = KeyRing.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);

const bellConfig = z.strictObject({ webhookSecret: secret() });
const signatureOf = (key: Secret | Buffer, content: Uint8Array) =>
  hmac({ algorithm: 'sha256', key, content, encoding: 'hex' });

/** The signature of the test provider. */
export const signed = (body: string | Buffer, key = 'swordfish') => signatureOf(Buffer.from(key), Buffer.from(body));

/** A provider that notes what is asked of it, and throws where the body says so. */
export function bellProvider(calls: string[]): AnyProvider {
  return defineProvider<z.infer<typeof bellConfig>>({
    name: 'bell',
    title: 'Bell',
    config: bellConfig,
    kinds: ['events', 'alarms'],
    keepHeaders: ['x-bell-id'],
    verify({ headers, body }, { webhookSecret }) {
      calls.push('verify');
      if (isEqual(signatureOf(webhookSecret, body), headers['x-bell-signature'] ?? '')) return { ok: true };
      return { ok: false, reason: 'x-bell-signature does not match' };
    },
    identify({ headers, query, body }) {
      calls.push('identify');
      const read: unknown = JSON.parse(body.toString('utf8') || '{}');
      const eventId = headers['x-bell-id'];
      if (eventId === undefined) return undefined;
      const channel = query.room ?? (Array.isArray(read) ? String(read[0]) : undefined);
      return { eventId, event: 'rung', ...(channel !== undefined && { signalChannelId: `bell:${channel}` }) };
    },
    handshake({ headers, query }) {
      calls.push('handshake');
      if (headers['x-bell-hello'] === undefined) return undefined;
      if (query.challenge === undefined) return { status: 204 };
      return { status: 200, body: query.as === 'json' ? { challenge: query.challenge } : query.challenge };
    },
    normalize: () => ({ type: 'ignored', reason: 'a test provider' }),
    origin: () => ({}),
  });
}

/** A log that keeps its lines. */
export function keptLog(): { readonly log: Log; readonly lines: Readonly<Record<string, unknown>>[] } {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, ...fields, message });
  return { log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines };
}

/** An edge whose world is in memory, and all that it did there. */
export function edgeUnderTest(
  given: Partial<Omit<IngressOptions, 'settings'>> & {
    readonly settings?: Partial<IngressSettings>;
    readonly stored?: readonly Connection[];
  } = {},
) {
  const calls: string[] = [];
  const published: RawProviderFact[] = [];
  const decided: Decision[] = [];
  const outcomes: { readonly provider: string; readonly outcome: Outcome }[] = [];
  const { log, lines } = keptLog();
  const bell = bellProvider(calls);
  const table = tableOf(connections);
  const octo = sealConnection({ id: 'octo', config: { webhookSecret: 'swordfish' } }, { provider: bell, keys, now });
  for (const connection of given.stored ?? [octo]) table.set(connection.id, connection);
  const [defaults] = readConfig([config] as const, {});
  const app = buildIngress({
    providers: new Map([['bell', bell]]),
    connections: table,
    keys,
    publish: async (fact) => {
      published.push(fact);
      return { partition: 3 };
    },
    decide: async (decision) => decided.push(decision),
    now: () => now,
    log,
    onOutcome: (outcome) => outcomes.push(outcome),
    ...given,
    settings: { ...defaults, port: 0, ...given.settings },
  });
  return { app, bell, octo, table, calls, published, decided, outcomes, lines };
}

/** A webhook of the test provider, signed. */
export const ring = (
  body: string | Buffer,
  more: { readonly url?: string; readonly headers?: Readonly<Record<string, string>> } = {},
) => ({
  method: 'POST' as const,
  url: more.url ?? '/webhooks/v1/bell/octo/events',
  headers: { 'x-bell-id': 'e1', 'x-bell-signature': signed(body), ...more.headers },
  payload: body,
});

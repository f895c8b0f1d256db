import type { Connection } from '../../schemas/connection.ts';
import { connections } from '../../schemas/connection.ts';
import { adapterFailures, connectionStates } from '../../schemas/connection-state.ts';
import { NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { type RawProviderFact, rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { publicConfig } from '../../shared/connection.ts';
import { BusError, type ErrorCode } from '../../shared/errors.ts';
import { type AnyProvider, issuesOf, type OwnIds } from '../../shared/provider.ts';
import { safeParse } from '../../shared/safe-parse.ts';
import {
  defineStage,
  type Effect,
  emit,
  type Message,
  outcome,
  type Reject,
  reject,
} from '../../shared/stage/index.ts';
import { unreachableAttachment } from './attachments.ts';
import { config, type Settings } from './config.ts';
import { afterFailure, afterSuccess, type Known } from './failures.ts';
import { metrics } from './metrics.ts';
import { type Numbered, type Reading, readDelivery } from './read-delivery.ts';

/** The normalizer of these providers, by name. */
export function normalizer(providers: ReadonlyMap<string, AnyProvider>) {
  return defineStage({
    name: 'normalizer',
    summary: 'Turns what providers sent into facts of one shape.',
    input: rawProviderFacts,
    outputs: [normalizedFacts, connectionStates],
    tables: { connections, states: connectionStates },
    config,
    metrics,
    reads: ({ connectionId }) => ({ failures: adapterFailures.at(connectionId) }),

    decide(view, message, settings) {
      const raw = message.value;
      const provider = providers.get(raw.provider);
      if (provider === undefined) return [reject('provider-unknown', { provider: raw.provider })];

      const connection = view.connections.get(raw.connectionId);
      if (connection?.provider !== provider.name) {
        return [reject('connection-unknown', { connectionId: raw.connectionId, provider: raw.provider })];
      }

      const known = { connection, state: view.states.get(connection.id), row: view.failures, at: message.at };
      const effects = handle(message, { provider, connection, settings });
      return [...effects, ...failureEffects(effects, { message, known, settings })];
    },
  });
}

/** Failures count beside the rejection, so a rejection is that of one part: the facts. A redrive tries, and counts no failure. */
function failureEffects(
  [first]: readonly Effect[],
  { message, known, settings }: { message: Message<RawProviderFact>; known: Known; settings: Settings },
): readonly Effect[] {
  if (first?.do !== 'reject') return afterSuccess(known);
  return message.part === undefined ? afterFailure(first.code, known, settings) : [];
}

const unread = (code: ErrorCode, details: Reject['details']): readonly [Reject] => [
  reject(code, details, { part: 'facts' }),
];
const invalid = (issues: readonly string[]) => unread('payload-invalid', { issues: issues.slice(0, 10).join('; ') });

/** What becomes of a delivery: facts, one outcome, or one rejection. */
function handle(
  message: Message<RawProviderFact>,
  from: { readonly provider: AnyProvider; readonly connection: Connection; readonly settings: Settings },
): readonly Effect[] {
  const { provider, connection, settings } = from;
  const own = openSettings(connection, provider);
  // The connection was stored by a version whose provider asked for other settings.
  if (own === undefined) return unread('contract-violated', { connectionId: connection.id });

  const reading: Reading = readDelivery(provider, own, message.value);
  switch (reading.type) {
    case 'failed':
      return unread('adapter-failed', { ...reading.thrown });
    case 'ignored':
      return [outcome('ignored_unknown_event', { reason: reading.reason })];
    case 'own':
      return [outcome('ignored_own_message', { reason: reading.reason })];
    case 'refused':
      return unread(reading.code, reading.details);
    case 'invalid':
      return invalid(reading.issues);
    case 'facts':
      return emitFacts(message, reading, settings);
  }
}

function openSettings(connection: Connection, provider: AnyProvider): OwnIds | undefined {
  try {
    return publicConfig(connection, provider);
  } catch (cause) {
    if (!(cause instanceof BusError) || cause.code !== 'contract-violated') throw cause;
    return undefined;
  }
}

/** All facts of a delivery or none: half of one could never be made whole by a redrive. */
function emitFacts(
  message: Message<RawProviderFact>,
  { facts, count }: { readonly facts: readonly Numbered[]; readonly count: number },
  { maxFacts }: Settings,
): readonly Effect[] {
  if (count > maxFacts) return invalid([`body: ${count} facts, at most ${maxFacts} are taken`]);

  const { connectionId, provider, eventId, receivedAt } = message.value;
  const eventKey = eventId ?? message.id;
  const effects: Effect[] = [];
  for (const { number, fact } of facts) {
    const whole = safeParse(NormalizedFact, {
      ...fact,
      connectionId,
      provider,
      ...(eventId !== undefined && { providerEventId: eventId }),
      sourceEventId: number === 0 ? eventKey : `${eventKey}#${number}`,
      receivedAt,
    });
    if (!whole.success) return invalid(issuesOf(whole.error));
    const place = unreachableAttachment(whole.data);
    if (place !== undefined) return unread('attachment_not_materialized', { fact: number, attachment: place });
    effects.push(emit(normalizedFacts, whole.data, String(number)));
  }
  return effects;
}

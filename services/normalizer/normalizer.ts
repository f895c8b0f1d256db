import type { Connection } from '../../schemas/connection.ts';
import { connections } from '../../schemas/connection.ts';
import { NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { type RawProviderFact, rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { publicConfig } from '../../shared/connection.ts';
import { BusError } from '../../shared/errors.ts';
import { type AnyProvider, issuesOf, type Normalization, type ProviderFact, readBody } from '../../shared/provider.ts';
import { safeParse } from '../../shared/safe-parse.ts';
import { defineStage, type Effect, emit, type Message, outcome, reject } from '../../shared/stage/index.ts';
import { unreachableAttachment } from './attachments.ts';
import { bodyText } from './body.ts';
import { config } from './config.ts';
import { metrics } from './metrics.ts';

/** The normalizer of these providers, by name. */
export function normalizer(providers: ReadonlyMap<string, AnyProvider>) {
  return defineStage({
    name: 'normalizer',
    summary: 'Turns what providers sent into facts of one shape.',
    input: rawProviderFacts,
    outputs: [normalizedFacts],
    tables: { connections },
    config,
    metrics,
    reads: () => ({}),

    decide(view, message, { maxFacts }) {
      const raw = message.value;
      const provider = providers.get(raw.provider);
      if (provider === undefined) return [reject('provider-unknown', { provider: raw.provider })];

      const connection = view.connections.get(raw.connectionId);
      if (connection?.provider !== provider.name) {
        return [reject('connection-unknown', { connectionId: raw.connectionId, provider: raw.provider })];
      }

      const normalization = normalize(provider, connection, raw);
      switch (normalization.type) {
        case 'refused':
          return [reject(normalization.code, normalization.details)];
        case 'ignored':
          return [outcome('ignored_unknown_event', { reason: normalization.reason })];
        case 'invalid':
          return [invalid(normalization.issues)];
        case 'facts':
          return emitFacts(message, normalization.facts, maxFacts);
      }
    },
  });
}

const invalid = (issues: readonly string[]) => reject('payload-invalid', { issues: issues.slice(0, 10).join('; ') });

function normalize(
  provider: AnyProvider,
  connection: Connection,
  raw: RawProviderFact,
):
  | Normalization
  | { readonly type: 'refused'; readonly code: 'contract-violated'; readonly details: { connectionId: string } } {
  const text = bodyText(raw);
  if (text === undefined) return { type: 'invalid', issues: ['body: not UTF-8'] };
  const body = readBody(provider, text);
  if (body === undefined) return { type: 'invalid', issues: ['body: not JSON'] };
  try {
    return provider.normalize(
      { event: raw.event, eventId: raw.eventId, connectionId: raw.connectionId, body },
      publicConfig(connection, provider),
    );
  } catch (cause) {
    // The connection was stored by a version whose provider asked for other settings.
    if (!(cause instanceof BusError) || cause.code !== 'contract-violated') throw cause;
    return { type: 'refused', code: cause.code, details: { connectionId: connection.id } };
  }
}

/** All facts of a delivery or none: half of one could never be made whole by a redrive. */
function emitFacts(
  message: Message<RawProviderFact>,
  facts: readonly ProviderFact[],
  maxFacts: number,
): readonly Effect[] {
  if (facts.length === 0) return [outcome('ignored_unknown_event', { reason: 'the event holds no fact' })];
  if (facts.length > maxFacts) return [invalid([`body: ${facts.length} facts, at most ${maxFacts} are taken`])];

  const { connectionId, provider, eventId, receivedAt } = message.value;
  const eventKey = eventId ?? message.id;
  const effects: Effect[] = [];
  for (const [number, fact] of facts.entries()) {
    const whole = safeParse(NormalizedFact, {
      ...fact,
      connectionId,
      provider,
      ...(eventId !== undefined && { providerEventId: eventId }),
      sourceEventId: number === 0 ? eventKey : `${eventKey}#${number}`,
      receivedAt,
    });
    if (!whole.success) return [invalid(issuesOf(whole.error))];
    const place = unreachableAttachment(whole.data);
    if (place !== undefined) return [reject('attachment_not_materialized', { fact: number, attachment: place })];
    effects.push(emit(normalizedFacts, whole.data, String(number)));
  }
  return effects;
}

import { z } from 'zod';
import { defineTopic } from './define.ts';
import { ConnectionId, RawFactId, SignalChannelId } from './ids.ts';

/**
 * One HTTP delivery or one published fact, as received. `body` is the exact text; bytes that are not UTF-8 come as base64.
 * `eventId` is the provider's own id of the event, `event` its name there. A publisher may leave out `id`.
 */
export const RawProviderFact = z.object({
  id: RawFactId.optional(),
  provider: z.string().min(1).max(64),
  connectionId: ConnectionId,
  kind: z.string().min(1).max(64),
  eventId: z.string().min(1).max(200).optional(),
  event: z.string().min(1).max(200).optional(),
  signalChannelId: SignalChannelId.optional(),
  receivedAt: z.int().nonnegative(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string(),
  bodyEncoding: z.enum(['utf-8', 'base64']),
});
export type RawProviderFact = z.infer<typeof RawProviderFact>;

/** What providers sent, before anything was decided. */
export const rawProviderFacts = defineTopic<RawProviderFact>({
  name: 'raw-provider-facts',
  summary: 'What providers sent, as received: one HTTP delivery or one published fact.',
  value: RawProviderFact,
  key: (fact) => fact.signalChannelId ?? fact.id ?? fact.eventId ?? fact.connectionId,
  keep: { days: 7 },
  maxBytes: 8_388_608,
  id: (fact) => fact.id,
  about: (fact) => ({
    connectionId: fact.connectionId,
    ...(fact.eventId !== undefined && { providerEventId: fact.eventId }),
    ...(fact.signalChannelId !== undefined && { signalChannelId: fact.signalChannelId }),
  }),
  example: RawProviderFact.parse({
    id: '01960000-0000-7000-8000-000000000001',
    provider: 'github',
    connectionId: 'octo',
    kind: 'events',
    eventId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    event: 'issue_comment',
    signalChannelId: 'github:octo/repo#7',
    receivedAt: 1_929_952_800_000,
    headers: { 'x-github-event': 'issue_comment' },
    body: '{"action":"created"}',
    bodyEncoding: 'utf-8',
  }),
});

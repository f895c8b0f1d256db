import { isUtf8 } from 'node:buffer';
import { Decision } from '../../schemas/decision.ts';
import { RawProviderFact } from '../../schemas/raw-provider-fact.ts';
import type { AnyProvider, Handshake, Identity, WebhookRequest } from '../../shared/provider.ts';
import type { Target } from './target.ts';

/** What a webhook is: refused, somebody's handshake, or a fact to publish. */
export type Received =
  | { readonly type: 'secret-missing' }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'unidentified' }
  | { readonly type: 'handshake'; readonly handshake: Handshake; readonly decision: Decision }
  | { readonly type: 'fact'; readonly fact: RawProviderFact };

/** Decides on a webhook: who sent it is proved before anything of the body is read. */
export function receive(
  request: WebhookRequest,
  { provider, connection, configs }: Target & { readonly configs: readonly unknown[] },
  receipt: { readonly id: string; readonly now: number },
): Received {
  let reason: string | undefined;
  for (const config of configs) {
    const verification = provider.verify(request, config, receipt.now);
    if (verification.ok) return readVerified(request, { provider, connection, config }, receipt);
    reason ??= verification.reason;
  }
  return reason === undefined ? { type: 'secret-missing' } : { type: 'refused', reason };
}

function readVerified(
  request: WebhookRequest,
  from: Target & { readonly config: unknown },
  { id, now }: { readonly id: string; readonly now: number },
): Received {
  const { provider, connection, config } = from;
  const identity = provider.identify(request, config);
  const handshake = provider.handshake?.(request, config);
  if (handshake !== undefined) {
    const decision = Decision.parse({
      rootId: id,
      stage: 'ingress',
      status: 'answered_handshake',
      at: now,
      about: { connectionId: connection.id, ...(identity !== undefined && { providerEventId: identity.eventId }) },
    });
    return { type: 'handshake', handshake, decision };
  }
  if (identity === undefined) return { type: 'unidentified' };
  // The ids come from the sender: one that no topic takes is a request that no real sender makes.
  const fact = RawProviderFact.safeParse({
    id,
    provider: provider.name,
    connectionId: connection.id,
    kind: request.kind,
    ...idsOf(identity),
    receivedAt: now,
    headers: keptHeaders(request, provider),
    ...textOf(request.body),
  });
  return fact.success ? { type: 'fact', fact: fact.data } : { type: 'unidentified' };
}

const idsOf = ({ eventId, event, signalChannelId }: Identity) => ({
  eventId,
  event,
  ...(signalChannelId !== undefined && { signalChannelId }),
});

function keptHeaders(request: WebhookRequest, provider: AnyProvider): Readonly<Record<string, string>> {
  const names = new Set(['content-type', ...provider.keepHeaders]);
  return Object.fromEntries(Object.entries(request.headers).filter(([name]) => names.has(name)));
}

const textOf = (body: Buffer): Pick<RawProviderFact, 'body' | 'bodyEncoding'> =>
  isUtf8(body)
    ? { body: body.toString('utf8'), bodyEncoding: 'utf-8' }
    : { body: body.toString('base64'), bodyEncoding: 'base64' };

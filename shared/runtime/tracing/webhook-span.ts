import type { Span } from './span.ts';
import { isSampled, parseTraceparent, spanIdOf, type TraceContext, traceIdOf } from './trace-context.ts';

/** A genuine webhook that is a fact, from its first byte to its answer. */
export interface Webhook {
  readonly id: string;
  readonly provider: string;
  readonly connectionId: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: number;
  /** The sender's own `traceparent`. */
  readonly traceparent: string | undefined;
}

const service = 'ingress';
const route = '/webhooks/v1/:handlerId/:instanceId/:kind';

/**
 * Where a webhook stands in its trace: at the beginning of a new one. The sender's header chooses neither its id nor
 * whether it is recorded, since no signature covers it.
 */
export function webhookContext(id: string, share: number): TraceContext {
  const traceId = traceIdOf(id);
  return { traceId, spanId: spanIdOf(traceId, service), sampled: isSampled(traceId, share) };
}

/** The span of a webhook. The sender's trace is linked, so that both can be found from each other. */
export const webhookSpan = (webhook: Webhook, context: TraceContext): Span => ({
  service,
  kind: 'server',
  name: `POST ${route}`,
  context,
  parent: undefined,
  link: parseTraceparent(webhook.traceparent),
  startAt: webhook.startedAt,
  endAt: Math.max(webhook.startedAt, webhook.endedAt),
  attributes: {
    'http.request.method': 'POST',
    'http.route': route,
    'http.response.status_code': webhook.status,
    'signalbox.provider': webhook.provider,
    'signalbox.connection_id': webhook.connectionId,
    'signalbox.root_id': webhook.id,
  },
  error: webhook.status >= 500 ? String(webhook.status) : undefined,
});

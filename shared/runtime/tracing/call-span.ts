import type { CallAnswer } from '../../stage/effects.ts';
import type { PendingCall } from '../apply-effects.ts';
import type { Span } from './span.ts';
import { parseTraceparent, spanIdOf, type TraceContext } from './trace-context.ts';

/** Where a provider call stands in its trace: below the work that asked for it; undefined where that is in none. */
export function callContext({ id, traceparent }: Pick<PendingCall, 'id' | 'traceparent'>): TraceContext | undefined {
  const parent = parseTraceparent(traceparent);
  return parent && { ...parent, spanId: spanIdOf(parent.traceId, `call ${id}`) };
}

/** The span of a provider call. Of its URL the host alone is told: paths hold tokens at some providers. */
export function callSpan(
  { rootId, call, traceparent }: PendingCall,
  about: {
    readonly stage: string;
    readonly context: TraceContext;
    readonly startAt: number;
    readonly endAt: number;
    readonly answer: CallAnswer;
  },
): Span {
  const { answer } = about;
  const host = URL.parse(call.request.url)?.hostname;
  const refused = answer.status !== undefined && answer.status >= 400 ? String(answer.status) : undefined;
  return {
    service: about.stage,
    kind: 'client',
    name: call.request.method,
    context: about.context,
    parent: parseTraceparent(traceparent),
    startAt: about.startAt,
    endAt: about.endAt,
    attributes: {
      'http.request.method': call.request.method,
      ...(host !== undefined && { 'server.address': host }),
      ...(answer.status !== undefined && { 'http.response.status_code': answer.status }),
      'signalbox.stage': about.stage,
      'signalbox.root_id': rootId,
    },
    error: answer.failure ?? refused,
  };
}

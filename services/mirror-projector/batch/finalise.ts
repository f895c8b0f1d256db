import type { RouteOfFact } from '../../../schemas/accepted-fact.ts';
import type { OpenBatch } from '../../../schemas/batch.ts';
import { rowKey } from '../../../schemas/row-key.ts';

/** What a batch comes to when it closes. */
export type BatchResult = 'addressed' | 'ambient' | 'no_actor_event';

/** A batch that addresses the agent wakes it; one that does not may, where the binding says so. */
export function resultOf({ mode, policy }: Pick<OpenBatch, 'mode' | 'policy'>): BatchResult {
  if (mode === 'addressed') return 'addressed';
  return policy === 'may_intervene' ? 'ambient' : 'no_actor_event';
}

/** What a timer finds: the batch that it is for, or why there is nothing to do. */
export type Due =
  | { readonly type: 'due'; readonly batch: OpenBatch }
  | { readonly type: 'nothing'; readonly reason: 'inbound_batch_revision_stale' | 'inbound_batch_not_due' };

/**
 * Looks for the batch that a timer is for. Timers are set for batches that exist, so one that is not found was closed, and
 * closing is a change as any other: its revision is stale.
 */
export function findDue(
  open: readonly OpenBatch[],
  timer: { readonly batchId: string; readonly revision: number },
  at: number,
): Due {
  const batch = open.find(({ id }) => id === timer.batchId);
  if (batch?.revision !== timer.revision) return { type: 'nothing', reason: 'inbound_batch_revision_stale' };
  if (batch.dueAt > at) return { type: 'nothing', reason: 'inbound_batch_not_due' };
  return { type: 'due', batch };
}

/** The timer of a thread's open batch: there is one such batch, so there is one such timer. */
export const timerKeyOf = (
  route: Pick<RouteOfFact, 'agentUid' | 'bindingName'>,
  signalChannelId: string,
  { providerThreadId }: Pick<OpenBatch, 'providerThreadId'>,
): string => rowKey('batch', route.agentUid, route.bindingName, signalChannelId, providerThreadId ?? '');

/** The id of the event that a batch becomes; closing it is its last change. */
export const eventIdOf = ({ id, revision }: Pick<OpenBatch, 'id' | 'revision'>): string =>
  `inbound-batch:${id}:${revision + 1}`;

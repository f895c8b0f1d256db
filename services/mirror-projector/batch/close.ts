import type { RouteOfFact } from '../../../schemas/accepted-fact.ts';
import { actorEvents } from '../../../schemas/actor-event.ts';
import { handedOverBatches, type OpenBatch, type OpenBatches, openBatches } from '../../../schemas/batch.ts';
import type { RecentEntry } from '../../../schemas/conversation.ts';
import type { Channel } from '../../../schemas/mirror.ts';
import { handledRevisions } from '../../../schemas/mirror.ts';
import { rowKey } from '../../../schemas/row-key.ts';
import { cancel, type Effect, emit, later, outcome, put, remove } from '../../../shared/stage/index.ts';
import { awaitsFiles } from '../inputs.ts';
import { resultOf, timerKeyOf } from './finalise.ts';
import { mergedEvent } from './merge.ts';

/** As many of the entries that the agent was shown as its context could show again. */
const shownMost = 60;

/** Closes batches in order: what they come to, and which entries the agent was shown thereby. */
export function closeBatches(
  batches: readonly OpenBatch[],
  around: {
    readonly route: RouteOfFact;
    readonly channel: Channel;
    readonly recent: readonly RecentEntry[];
    readonly shownEntryIds: OpenBatches['shownEntryIds'];
    readonly at: number;
    readonly inputRetentionMs: number;
  },
): { readonly effects: readonly Effect[]; readonly shownEntryIds: OpenBatches['shownEntryIds'] } {
  const { route, channel, recent, at } = around;
  const effects: Effect[] = [];
  let { shownEntryIds } = around;
  for (const batch of batches) {
    const result = resultOf(batch);
    if (result === 'no_actor_event') continue;
    const event = mergedEvent({ route, channel, batch, result, recent, shownEntryIds, at });
    effects.push(emit(actorEvents, event));
    const merged = batch.entries.length > 1;
    if (merged) {
      const { agentUid, bindingName } = route;
      const place = handedOverBatches.at({ agentUid, bindingName, signalChannelId: channel.id, eventId: event.id });
      effects.push(put(place, { batch }, at + around.inputRetentionMs));
    }
    for (const entry of batch.entries) {
      const { fact } = entry;
      const { sourceEntryId } = fact;
      // The row of an entry that waits is as its batch holds it, so it is written without being read.
      const revision = {
        contentHash: entry.contentHash,
        providerTime: fact.providerTime ?? null,
        actorEventType: event.type,
        inputs: [{ eventId: event.id, type: event.type, at, ...(merged && { merged }) }],
        ...(awaitsFiles(fact) && { awaitsFiles: true as const }),
      };
      effects.push(put(handledRevisions.at({ ...route, ...fact }), revision));
      if (!entry.mirrored) {
        // Whether the mirror holds a newer revision by now is in a row that nobody could name before.
        const key = rowKey('mirror', route.agentUid, route.bindingName, fact.signalChannelId, sourceEntryId);
        effects.push(later(key, at, { type: 'entry.addressed', route, fact }));
      }
      const about = { sourceEntryId, actorEventId: event.id };
      effects.push(outcome('handed_over', { reason: result, about, rootId: entry.rootId }));
    }
    // What it was only asked to judge is no part of its history.
    if (result === 'addressed') {
      shownEntryIds = [...shownEntryIds, ...batch.entries.map(({ fact }) => fact.sourceEntryId)].slice(-shownMost);
    }
  }
  return { effects, shownEntryIds };
}

/** Keeps the open batches of a route and channel, and sets, moves or takes back the timers of those that changed. */
export function keepBatches(
  route: RouteOfFact,
  signalChannelId: string,
  before: OpenBatches | undefined,
  after: OpenBatches,
): readonly Effect[] {
  const place = openBatches.at({ ...route, signalChannelId });
  const threads = new Map(
    (before?.batches ?? []).map((batch): [string, OpenBatch] => [timerKeyOf(route, signalChannelId, batch), batch]),
  );
  const timers: Effect[] = [];
  for (const batch of after.batches) {
    const key = timerKeyOf(route, signalChannelId, batch);
    const was = threads.get(key);
    threads.delete(key);
    if (was?.id === batch.id && was.revision === batch.revision) continue;
    timers.push(
      later(key, batch.dueAt, {
        type: 'batch.due',
        route,
        signalChannelId,
        ...(batch.providerThreadId !== null && { providerThreadId: batch.providerThreadId }),
        batchId: batch.id,
        revision: batch.revision,
      }),
    );
  }
  for (const key of threads.keys()) timers.push(cancel(key));
  const empty = after.batches.length === 0 && after.shownEntryIds.length === 0;
  if (empty && before === undefined) return timers;
  return [empty ? remove(place) : put(place, after), ...timers];
}

import type { AcceptedFact, BatchDue, InputChanged, RouteOfFact } from '../../schemas/accepted-fact.ts';
import { handedOverBatches, openBatches } from '../../schemas/batch.ts';
import { recentEntries, threadAgents } from '../../schemas/conversation.ts';
import { channels, entries, handledRevisions, reactionClocks, seenEvents, tombstones } from '../../schemas/mirror.ts';
import type { Action, EntryLifecycle, EntryReceived, NormalizedFact, Reaction } from '../../schemas/normalized-fact.ts';
import type { Reads, View } from '../../shared/stage/index.ts';
import { isConversation } from './addressing.ts';
import { pairPlace } from './loop-guard.ts';

/** What is in the rows of these places; one that is not read, or not there, is left out. */
type Seen<P extends (route: RouteOfFact, fact: never) => Reads> = Partial<View<ReturnType<P>, Record<never, never>>>;

/** The rows of a conversation: what waits on the route, and what was said of late on any. */
const conversationPlaces = (
  { agentUid, bindingName }: Pick<RouteOfFact, 'agentUid' | 'bindingName'>,
  signalChannelId: EntryReceived['signalChannelId'],
) => ({
  batches: openBatches.at({ agentUid, bindingName, signalChannelId }),
  recent: recentEntries.at(signalChannelId),
});

const seenPlace = ({ agentUid, bindingName }: RouteOfFact, { signalChannelId, sourceEventId }: NormalizedFact) =>
  seenEvents.at({ agentUid, bindingName, signalChannelId, sourceEventId });

const routedEntry = (
  { agentUid, bindingName }: RouteOfFact,
  { signalChannelId, sourceEntryId }: EntryReceived | EntryLifecycle,
) => ({ agentUid, bindingName, signalChannelId, sourceEntryId });

/** The rows that an entry touches on one route. Channel and entry are shared by all routes, the others are its own. */
export const entryPlaces = (route: RouteOfFact, fact: EntryReceived) => {
  const pair = pairPlace(route, fact);
  return {
    seen: seenPlace(route, fact),
    tombstone: tombstones.at(routedEntry(route, fact)),
    channel: channels.at(fact.signalChannelId),
    entry: entries.at(fact),
    handled: handledRevisions.at(routedEntry(route, fact)),
    ...(pair !== undefined && { pair }),
  };
};
export type EntryView = Seen<typeof entryPlaces>;

/** The rows that a message of a conversation touches beside: its thread's, and those of what it replies to. */
export const messagePlaces = (route: RouteOfFact, fact: EntryReceived) => {
  const { signalChannelId, providerThreadId, replyToSourceEntryId } = fact;
  return {
    ...entryPlaces(route, fact),
    ...conversationPlaces(route, signalChannelId),
    ...(providerThreadId !== undefined && { thread: threadAgents.at({ signalChannelId, providerThreadId }) }),
    ...(replyToSourceEntryId !== undefined && {
      quoted: entries.at({ signalChannelId, sourceEntryId: replyToSourceEntryId }),
      quotedHandled: handledRevisions.at({ ...routedEntry(route, fact), sourceEntryId: replyToSourceEntryId }),
    }),
  };
};
export type MessagePlaces = ReturnType<typeof messagePlaces>;
export type MessageView = Seen<typeof messagePlaces>;

/** The rows that a due batch touches. */
export const duePlaces = ({ route, signalChannelId }: BatchDue) => ({
  channel: channels.at(signalChannelId),
  ...conversationPlaces(route, signalChannelId),
});
export type DueView = Partial<View<ReturnType<typeof duePlaces>, Record<never, never>>>;

/** The rows that a change of an event of several messages touches. An entry waits in one batch, so one of its events is such. */
export const changePlaces = ({ route: { agentUid, bindingName }, fact, inputs }: InputChanged) => {
  const { signalChannelId } = fact;
  const eventId = inputs.find(({ merged }) => merged === true)?.eventId ?? '';
  return {
    channel: channels.at(signalChannelId),
    ...conversationPlaces({ agentUid, bindingName }, signalChannelId),
    handedOver: handedOverBatches.at({ agentUid, bindingName, signalChannelId, eventId }),
  };
};
export type ChangeView = Partial<View<ReturnType<typeof changePlaces>, Record<never, never>>>;

/** The rows that a removal touches. One that does not say what its channel is may be of a conversation. */
export const removalPlaces = (route: RouteOfFact, fact: EntryLifecycle) => ({
  ...((isConversation(fact) || (fact.channel.kind ?? 'unknown') === 'unknown') &&
    conversationPlaces(route, fact.signalChannelId)),
  seen: seenPlace(route, fact),
  tombstone: tombstones.at(routedEntry(route, fact)),
  channel: channels.at(fact.signalChannelId),
  entry: entries.at(fact),
  reactionClock: reactionClocks.at(fact),
  handled: handledRevisions.at(routedEntry(route, fact)),
});
export type RemovalView = Seen<typeof removalPlaces>;

/** The rows that a reaction touches: no channel, since it says nothing of one. */
export const reactionPlaces = (route: RouteOfFact, fact: Reaction) => ({
  seen: seenPlace(route, fact),
  entry: entries.at(fact),
  clock: reactionClocks.at(fact),
});
export type ReactionView = Seen<typeof reactionPlaces>;

/** The rows that an action touches. */
export const actionPlaces = (route: RouteOfFact, fact: Action) => ({
  seen: seenPlace(route, fact),
  channel: channels.at(fact.signalChannelId),
});
export type ActionView = Seen<typeof actionPlaces>;

type Places = MessagePlaces & ReturnType<typeof reactionPlaces> & ReturnType<typeof changePlaces>;

/** The rows that a record touches: which they are hangs on its kind. Nothing but a conversation pays for what one needs. */
export function placesOf(accepted: AcceptedFact): Partial<Places> {
  if (accepted.type === 'batch.due') return duePlaces(accepted);
  if (accepted.type === 'input.changed') return changePlaces(accepted);
  const { route, fact } = accepted;
  switch (fact.type) {
    case 'entry_received':
      return isConversation(fact) ? messagePlaces(route, fact) : entryPlaces(route, fact);
    case 'entry_lifecycle':
      return removalPlaces(route, fact);
    case 'reaction':
      return reactionPlaces(route, fact);
    case 'action':
      return actionPlaces(route, fact);
  }
}

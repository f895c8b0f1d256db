import type { AcceptedFact, RouteOfFact } from '../../schemas/accepted-fact.ts';
import { channels, entries, handledRevisions, reactionClocks, seenEvents, tombstones } from '../../schemas/mirror.ts';
import type { Action, EntryLifecycle, EntryReceived, NormalizedFact, Reaction } from '../../schemas/normalized-fact.ts';
import type { Reads, View } from '../../shared/stage/index.ts';

/** What is in the rows of these places; one that is not read, or not there, is left out. */
type Seen<P extends (route: RouteOfFact, fact: never) => Reads> = Partial<View<ReturnType<P>, Record<never, never>>>;

const seenPlace = ({ agentUid, bindingName }: RouteOfFact, { signalChannelId, sourceEventId }: NormalizedFact) =>
  seenEvents.at({ agentUid, bindingName, signalChannelId, sourceEventId });

const routedEntry = (
  { agentUid, bindingName }: RouteOfFact,
  { signalChannelId, sourceEntryId }: EntryReceived | EntryLifecycle,
) => ({ agentUid, bindingName, signalChannelId, sourceEntryId });

/** The rows that an entry touches on one route. Channel and entry are shared by all routes, the others are its own. */
export const entryPlaces = (route: RouteOfFact, fact: EntryReceived) => ({
  seen: seenPlace(route, fact),
  tombstone: tombstones.at(routedEntry(route, fact)),
  channel: channels.at(fact.signalChannelId),
  entry: entries.at(fact),
  handled: handledRevisions.at(routedEntry(route, fact)),
});
export type EntryView = Seen<typeof entryPlaces>;

/** The rows that a removal touches. */
export const removalPlaces = (route: RouteOfFact, fact: EntryLifecycle) => ({
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

type Places = ReturnType<typeof entryPlaces> & ReturnType<typeof reactionPlaces>;

/** The rows that a fact touches: which they are hangs on its kind. */
export function placesOf({ route, fact }: AcceptedFact): Pick<Places, 'seen'> & Partial<Places> {
  switch (fact.type) {
    case 'entry_received':
      return entryPlaces(route, fact);
    case 'entry_lifecycle':
      return removalPlaces(route, fact);
    case 'reaction':
      return reactionPlaces(route, fact);
    case 'action':
      return actionPlaces(route, fact);
  }
}

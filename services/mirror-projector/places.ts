import type { AcceptedFact } from '../../schemas/accepted-fact.ts';
import { channels, entries, handledRevisions, seenEvents, tombstones } from '../../schemas/mirror.ts';
import type { View } from '../../shared/stage/index.ts';

/** The rows that one fact can touch on one route. Channel and entry are shared by all routes, the others are its own. */
export const placesOf = ({ route, fact }: Pick<AcceptedFact, 'route' | 'fact'>) => {
  const routed = {
    agentUid: route.agentUid,
    bindingName: route.bindingName,
    signalChannelId: fact.signalChannelId,
    sourceEntryId: fact.sourceEntryId,
  };
  return {
    seen: seenEvents.at({ ...routed, sourceEventId: fact.sourceEventId }),
    tombstone: tombstones.at(routed),
    channel: channels.at(fact.signalChannelId),
    entry: entries.at(routed),
    handled: handledRevisions.at(routed),
  };
};

export type Places = ReturnType<typeof placesOf>;
export type MirrorView = View<Places, Record<never, never>>;

import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type ActorEvent, sessionOfChannel } from '../../schemas/actor-event.ts';
import type { Channel } from '../../schemas/mirror.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';

/** The event that an entry becomes on one route: it tells the entry as the fact does, the channel as the mirror does. */
export function actorEventOf(options: {
  readonly type: string;
  readonly route: RouteOfFact;
  readonly fact: EntryReceived;
  readonly channel: Channel;
  readonly documentId: string;
  readonly at: number;
}): ActorEvent {
  const { type, route, fact, channel, documentId, at } = options;
  return {
    specversion: '1.0',
    id: fact.sourceEventId,
    // A lone surrogate would make encodeURIComponent throw, and providers choose the id.
    source: `signal://${route.adapter}/${encodeURIComponent(fact.signalChannelId.toWellFormed())}`,
    type,
    subject: `signal_gateway_entries:${fact.sourceEntryId}`,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: {
      session: {
        agentUid: route.agentUid,
        sessionId: sessionOfChannel(fact.signalChannelId),
        bindingName: route.bindingName,
      },
      channel: {
        id: channel.id,
        kind: channel.kind,
        replyMode: channel.replyMode,
        ...(channel.name !== null && { name: channel.name }),
        ...(channel.visibility !== null && { visibility: channel.visibility }),
      },
      entry: {
        signalChannelId: fact.signalChannelId,
        sourceEntryId: fact.sourceEntryId,
        ...(fact.replyToSourceEntryId !== undefined && { replyToSourceEntryId: fact.replyToSourceEntryId }),
        ...(fact.providerThreadId !== undefined && { providerThreadId: fact.providerThreadId }),
        ...(fact.title !== undefined && { title: fact.title }),
        ...(fact.text !== undefined && { text: fact.text }),
        author: fact.author,
        ...(fact.links !== undefined && fact.links.length > 0 && { links: fact.links }),
        documentId,
        ...(fact.providerTime !== undefined && { providerTime: new Date(fact.providerTime).toISOString() }),
      },
      senderKey: fact.author.id,
      availableAt: at,
    },
  };
}

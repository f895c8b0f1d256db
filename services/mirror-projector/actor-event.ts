import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type ActorEvent, sessionOfChannel } from '../../schemas/actor-event.ts';
import type { SessionId } from '../../schemas/ids.ts';
import type { Channel, Entry } from '../../schemas/mirror.ts';
import { type Action, type EntryReceived, senderKeyOf } from '../../schemas/normalized-fact.ts';

/** What every event is made of: its route, its channel as the mirror shows it, and its moment. */
export interface Occasion {
  readonly route: RouteOfFact;
  readonly channel: Channel;
  readonly at: number;
}

/** An event's own id, type and subject, and its session where that is not its channel's. */
export interface Naming {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly sessionId?: SessionId | undefined;
}

type Content = Omit<ActorEvent['data'], 'session' | 'channel' | 'availableAt'>;

/** The envelope around what an event tells. */
export function eventOf({ route, channel, at }: Occasion, naming: Naming, content: Content): ActorEvent {
  return {
    specversion: '1.0',
    id: naming.id,
    // A lone surrogate would make encodeURIComponent throw, and providers choose the id.
    source: `signal://${route.adapter}/${encodeURIComponent(channel.id.toWellFormed())}`,
    type: naming.type,
    subject: naming.subject,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: {
      session: {
        agentUid: route.agentUid,
        sessionId: naming.sessionId ?? sessionOfChannel(channel.id),
        bindingName: route.bindingName,
      },
      channel: {
        id: channel.id,
        kind: channel.kind,
        replyMode: channel.replyMode,
        ...(channel.name !== null && { name: channel.name }),
        ...(channel.visibility !== null && { visibility: channel.visibility }),
      },
      ...content,
      availableAt: at,
    },
  };
}

/** What an event is about, for an entry. */
export const subjectOfEntry = ({ sourceEntryId }: { readonly sourceEntryId: string }): string =>
  `signal_gateway_entries:${sourceEntryId}`;

/** What an event tells of one entry: as the fact shows it, whatever the mirror holds. */
export const contentOf = (fact: EntryReceived, entry: Entry): Content => ({
  entry: {
    signalChannelId: fact.signalChannelId,
    sourceEntryId: fact.sourceEntryId,
    ...(fact.replyToSourceEntryId !== undefined && { replyToSourceEntryId: fact.replyToSourceEntryId }),
    ...(fact.providerThreadId !== undefined && { providerThreadId: fact.providerThreadId }),
    ...(fact.title !== undefined && { title: fact.title }),
    ...(fact.text !== undefined && { text: fact.text }),
    author: fact.author,
    ...(entry.links.length > 0 && { links: entry.links }),
    ...(entry.attachments !== undefined && { attachments: entry.attachments }),
    ...(entry.richContent !== undefined && { richContent: entry.richContent }),
    documentId: entry.documentId,
    ...(fact.providerTime !== undefined && { providerTime: new Date(fact.providerTime).toISOString() }),
  },
  ...(entry.mentions !== undefined && { mentions: entry.mentions }),
  ...(fact.causalDepth !== undefined && { causalDepth: fact.causalDepth + 1 }),
  senderKey: senderKeyOf(fact),
});

/** The event that an entry becomes on one route, of the type that its provider declared. */
export const entryEventOf = (
  occasion: Occasion,
  { type, fact, entry }: { readonly type: string; readonly fact: EntryReceived; readonly entry: Entry },
): ActorEvent =>
  eventOf(occasion, { id: fact.sourceEventId, type, subject: subjectOfEntry(fact) }, contentOf(fact, entry));

/** The event that an action becomes on one route. */
export const actionEventOf = (occasion: Occasion, fact: Action): ActorEvent =>
  eventOf(
    occasion,
    {
      id: fact.sourceEventId,
      type: fact.actorEventType ?? 'signal.action.invoked',
      subject: `signal_actions:${fact.actionId}`,
      sessionId: fact.sessionId,
    },
    {
      action: {
        id: fact.actionId,
        payload: fact.action,
        ...(fact.sourceEntryId !== undefined && { sourceEntryId: fact.sourceEntryId }),
        ...(fact.providerThreadId !== undefined && { providerThreadId: fact.providerThreadId }),
        ...(fact.actor !== undefined && { actor: fact.actor }),
      },
      ...(fact.actor !== undefined && { senderKey: fact.actor.principalUid ?? fact.actor.id }),
    },
  );

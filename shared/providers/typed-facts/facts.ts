import { z } from 'zod';
import { SignalChannelId } from '../../../schemas/ids.ts';
import { Action, Attachment, EntryLifecycle, EntryReceived, Reaction } from '../../../schemas/normalized-fact.ts';
import { instantOf } from '../../instant.ts';
import { issuesOf, type Normalization, type ProviderEvent, stated } from '../../provider.ts';
import { flagOf, isObject, listOf, type Members, objectOf, someOf, textOf, wordOf } from './members.ts';

/** What the bus itself says to agents; an adapter's events have names of their own. */
const reserved = /^(?:im|signal|command|cron|session|check_back_later|webhook|goal)\./;

/** What the runtime adds to a fact. */
const added = {
  connectionId: true,
  provider: true,
  providerEventId: true,
  sourceEventId: true,
  receivedAt: true,
} as const;
const Fact = z.discriminatedUnion('type', [
  EntryReceived.omit(added),
  EntryLifecycle.omit(added),
  Reaction.omit(added),
  Action.omit(added),
]);

type Type = z.infer<typeof Fact>['type'];
const types = ['entry_received', 'entry_lifecycle', 'reaction', 'action'] as const satisfies readonly Type[];

/** The texts without which a fact of each type is none. A reaction that is told twice changes nothing, so it needs no name. */
const required: Readonly<Record<Type, readonly string[]>> = {
  entry_received: ['sourceEventId', 'signalChannelId', 'sourceEntryId'],
  entry_lifecycle: ['sourceEventId', 'signalChannelId', 'sourceEntryId'],
  reaction: ['signalChannelId', 'sourceEntryId', 'reactionKey', 'actorKey'],
  action: ['sourceEventId', 'actionId'],
};

/** The channel, always within the connection: no adapter reaches one of another connection. */
export function channelIdIn(fact: Members, connectionId: string): SignalChannelId | undefined {
  const sessionId = textOf(fact.sessionId);
  // An action of no channel still needs an order, which is its session's.
  const name = textOf(fact.signalChannelId) ?? (sessionId && `session:${sessionId}`);
  return name === undefined ? undefined : SignalChannelId.safeParse(`typed-facts:${connectionId}:${name}`).data;
}

/** The fact that an adapter sent. Texts, lists and flags are taken as adapters in all languages spell them. */
export function factIn({ body, connectionId, eventId }: ProviderEvent): Normalization {
  if (!isObject(body)) return refused('invalid_ingress_attrs');
  const { channel } = body;
  if (channel !== undefined && channel !== null && !isObject(channel)) return refused('invalid_ingress_channel_attrs');

  const type = wordOf(body.type, types);
  if (type === undefined) return invalid('type: invalid_value');
  const sourceEventId = textOf(body.sourceEventId) ?? eventId;
  const missing = required[type].find((name) => textOf({ ...body, sourceEventId }[name]) === undefined);
  if (missing !== undefined) return refused('missing_required_text', { field: missing });
  const signalChannelId = channelIdIn(body, connectionId);
  if (signalChannelId === undefined) {
    return type === 'action' && textOf(body.signalChannelId) === undefined
      ? refused('missing_session_id')
      : invalid('signalChannelId: too_big');
  }
  // A redelivery is known by the id of its record, so the two names of one event must not part.
  if (type !== 'reaction' && sourceEventId !== eventId) return invalid('sourceEventId: not the eventId of its record');
  if (reserved.test(textOf(body.actorEventType) ?? '')) return invalid('actorEventType: reserved');

  const spoilt = listOf(body.attachments).findIndex((each) => !Attachment.safeParse(each).success);
  if (spoilt !== -1) {
    const issues = Attachment.safeParse(listOf(body.attachments)[spoilt]).error;
    return refused('invalid_attachment_payload', {
      attachment: spoilt,
      issues: issues === undefined ? '' : issuesOf(issues).join('; '),
    });
  }
  const fact = Fact.safeParse({
    type,
    signalChannelId,
    channel: channelOf(body),
    ...stated({
      providerThreadId: textOf(body.providerThreadId),
      providerTime: instantOf(body.providerTime),
      metadata: objectOf(body.metadata),
    }),
    ...ownMembers[type](body, connectionId),
  });
  return fact.success ? { type: 'facts', facts: [fact.data] } : { type: 'invalid', issues: issuesOf(fact.error) };
}

const refused = (
  code: Extract<Normalization, { readonly type: 'refused' }>['code'],
  details: Readonly<Record<string, string | number>> = {},
): Normalization => ({ type: 'refused', code, details });

const invalid = (issue: string): Normalization => ({ type: 'invalid', issues: [issue] });

/** What is said of the channel: in an object of its own, or flat beside the fact's members. */
function channelOf(body: Members) {
  const own = objectOf(body.channel) ?? {};
  return stated({
    kind: wordOf(own.kind ?? body.channelKind, ['im_dm', 'im_group', 'webhook_endpoint', 'issue', 'alert_stream']),
    replyMode: wordOf(own.replyMode ?? body.replyMode, ['channel', 'entry']),
    name: textOf(own.name ?? body.channelName),
    visibility: textOf(own.visibility ?? body.channelVisibility),
    metadata: objectOf(own.metadata),
  });
}

/** Who wrote or did it. Display names are never identity. */
function authorOf(value: unknown) {
  const author = objectOf(value) ?? {};
  const { agentUid, displayName, externalId, id, kind, platformSubject, principalUid, url } = author;
  const identity = [platformSubject, externalId, id, principalUid].map(textOf).find((text) => text !== undefined);
  if (identity === undefined) return undefined;
  const agent = textOf(agentUid)?.toLowerCase();
  return {
    id: identity,
    kind: wordOf(kind, ['user', 'bot', 'app']) ?? (agent === undefined ? 'unknown' : 'bot'),
    ...stated({
      displayName: textOf(displayName),
      principalUid: textOf(principalUid),
      agentUid: agent,
      url: textOf(url),
    }),
  };
}

/** The members that facts of each type have beside those of all. */
const ownMembers: Readonly<Record<Type, (body: Members, connectionId: string) => object>> = {
  entry_received: (body, connectionId) => ({
    sourceEntryId: textOf(body.sourceEntryId),
    author: authorOf(body.author) ?? { id: connectionId, kind: 'app' },
    ...stated({
      replyToSourceEntryId: textOf(body.replyToSourceEntryId),
      title: textOf(body.title),
      text: textOf(body.text),
      formattedContent: objectOf(body.formattedContent),
      senderKey: textOf(body.senderKey),
      explicit: flagOf(body.explicit),
      mirrorOnly: flagOf(body.mirrorOnly),
      edited: flagOf(body.edited),
      actorEventType: textOf(body.actorEventType),
      sentAt: instantOf(body.sentAt),
      causalDepth: body.causalDepth,
      attachments: someOf(body.attachments),
      links: someOf(body.links),
      mentions: someOf(body.mentions),
      commandPrefixes: someOf(body.structuredMentionPrefixes),
    }),
  }),
  entry_lifecycle: (body) => ({
    sourceEntryId: textOf(body.sourceEntryId),
    lifecycleKind: 'removed',
    ...stated({
      providerLifecycleKind:
        textOf(body.providerLifecycleKind) ?? textOf(objectOf(body.metadata)?.providerLifecycleKind),
      actor: authorOf(body.actor),
    }),
  }),
  reaction: (body) => ({
    sourceEntryId: textOf(body.sourceEntryId),
    reactionKey: textOf(body.reactionKey),
    rawReactionKey: textOf(body.rawReactionKey) ?? textOf(body.reactionKey),
    actorKey: textOf(body.actorKey),
    action: wordOf(body.action, ['remove', 'deleted']) === undefined ? 'add' : 'remove',
  }),
  action: (body) => ({
    actionId: textOf(body.actionId),
    action: objectOf(body.action) ?? {},
    ...stated({
      sourceEntryId: textOf(body.sourceEntryId),
      actor: authorOf(body.actor),
      sessionId: textOf(body.sessionId),
      actorEventType: textOf(body.actorEventType),
    }),
  }),
};

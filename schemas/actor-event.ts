import { z } from 'zod';
import { defineTopic } from './define.ts';
import { AgentUid, BindingName, SessionId, SignalChannelId, SourceEntryId } from './ids.ts';
import { Attachment, Author, ChannelKind, JsonObject, Link, Mention, ReplyMode } from './normalized-fact.ts';
import { rowKey } from './row-key.ts';

const envelope = {
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string().min(1),
  type: z.string().min(1).max(100),
  subject: z.string().optional(),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
};

const instant = z.int().nonnegative();

const EventEntry = {
  signalChannelId: SignalChannelId,
  sourceEntryId: SourceEntryId,
  replyToSourceEntryId: SourceEntryId.optional(),
  providerThreadId: z.string().optional(),
  title: z.string().optional(),
  text: z.string().optional(),
  /** Left out where the entry is gone. */
  author: Author.optional(),
  links: z.array(Link).optional(),
  attachments: z.array(Attachment).optional(),
  richContent: JsonObject.optional(),
  documentId: z.string(),
  providerTime: z.iso.datetime().optional(),
};

/** What an entry replies to, as it was when the reply came. */
export const QuotedEntry = z.discriminatedUnion('resolution', [
  z.object({
    resolution: z.literal('resolved'),
    sourceEntryId: SourceEntryId,
    role: z.enum(['human', 'agent']),
    author: Author,
    text: z.string().optional(),
    attachments: z.array(Attachment).optional(),
    links: z.array(Link).optional(),
    providerTime: z.iso.datetime().optional(),
  }),
  z.object({ resolution: z.literal('unresolved'), sourceEntryId: SourceEntryId }),
]);
export type QuotedEntry = z.infer<typeof QuotedEntry>;

/** A message that was said before, as short as an agent needs it. */
const ContextMessage = z.object({
  sourceEntryId: SourceEntryId,
  providerThreadId: z.string().optional(),
  author: Author,
  text: z.string(),
  providerTime: z.iso.datetime().optional(),
});

const content = {
  session: z.object({ agentUid: AgentUid, sessionId: SessionId, bindingName: BindingName }),
  channel: z.object({
    id: SignalChannelId,
    kind: ChannelKind,
    replyMode: ReplyMode,
    name: z.string().optional(),
    visibility: z.string().optional(),
  }),
  /** Of several messages: their text joined, and all else of the last. */
  entry: z.object({ ...EventEntry, replyTo: QuotedEntry.optional() }).optional(),
  /** The messages that it is made of, where they are several. */
  entries: z.array(z.object(EventEntry)).optional(),
  mentions: z.array(Mention).optional(),
  /** The batch that it was until it closed. */
  inboundBatch: z
    .object({ id: z.string(), revision: z.int().positive(), sourceEntryIds: z.array(SourceEntryId) })
    .optional(),
  /** `targetActorEventId` is null where a target is named and not known. */
  command: z
    .object({
      name: z.enum(['new', 'compress', 'retry', 'steer', 'stop', 'llm', 'llm_help']),
      raw: z.string(),
      argsText: z.string(),
      modelProfile: z.string().optional(),
      targetActorEventId: z.string().nullable().optional(),
    })
    .optional(),
  /** What was said before in its channel and the agent was not shown yet, oldest first. */
  channelContext: z.object({ messages: z.array(ContextMessage) }).optional(),
  /** What people said before and nobody answered, for an event that asks nobody. */
  unrepliedMessages: z.array(ContextMessage).optional(),
  /** How long an event that asks nobody may be taken up, and for which messages. */
  ambientBatch: z
    .object({
      size: z.int().positive(),
      firstSourceEntryId: SourceEntryId,
      lastSourceEntryId: SourceEntryId,
      asOf: instant,
      expiresAt: instant,
    })
    .optional(),
  /** What somebody pressed, chose or sent, as the provider holds it. */
  action: z
    .object({
      id: z.string(),
      payload: JsonObject,
      sourceEntryId: SourceEntryId.optional(),
      providerThreadId: z.string().optional(),
      actor: Author.optional(),
    })
    .optional(),
  /** How many wakes of agents led to each other here, this one among them; absent: it is the first as far as is known. */
  causalDepth: z.int().positive().optional(),
  /** Who asked, as the provider knows them. */
  senderKey: z.string().optional(),
  /** The instant from which it may be taken up, epoch milliseconds. */
  availableAt: instant,
};

/** An event that takes the place of an earlier one: what remains of it without an entry that is gone, or was edited. */
export const ReplacementEvent = z.object({ ...envelope, data: z.object(content) });
export type ReplacementEvent = z.infer<typeof ReplacementEvent>;

/**
 * An earlier event that held the entry, and what takes its place: not begun or running, it is cancelled and replaced (or
 * cancelled alone, where nothing remains); completed, the notice is all there is.
 */
export const AffectedInput = z.object({ eventId: z.string().min(1), replacement: ReplacementEvent.optional() });
export type AffectedInput = z.infer<typeof AffectedInput>;

/**
 * One item of work for one session: a CloudEvents 1.0 envelope in structured JSON. `id` comes from the source event: with
 * `data.session` it is unique, and a redelivery has the same one. Content of providers inside it is untrusted.
 */
export const ActorEvent = z.object({
  ...envelope,
  data: z.object({
    ...content,
    /** What became of an entry that earlier events held; `providerKind` is the provider's own word for it. */
    lifecycle: z
      .object({
        kind: z.enum(['removed', 'edited']),
        providerKind: z.string().optional(),
        /** Who did it, where the provider tells. */
        actor: Author.optional(),
        inputs: z.array(AffectedInput),
      })
      .optional(),
  }),
});
export type ActorEvent = z.infer<typeof ActorEvent>;

/** The session that an entry of a channel belongs to, unless something names another. */
export const sessionOfChannel = (signalChannelId: string): SessionId =>
  SessionId.parse(`signal-channel:${signalChannelId}`);

/** What orders actor events: `agentUid|sessionId`. */
export const sessionKey = (session: { readonly agentUid: string; readonly sessionId: string }): string =>
  rowKey(session.agentUid, session.sessionId);

/** The work of all agents, ordered by session. */
export const actorEvents = defineTopic<ActorEvent>({
  name: 'actor-events',
  summary: 'What wakes agents: CloudEvents 1.0, ordered by session.',
  value: ActorEvent,
  key: ({ data }) => sessionKey(data.session),
  keep: { days: 30 },
  maxBytes: 4_194_304,
  about: (event) => ({
    agentUid: event.data.session.agentUid,
    bindingName: event.data.session.bindingName,
    signalChannelId: event.data.channel.id,
    actorEventId: event.id,
  }),
  example: ActorEvent.parse({
    specversion: '1.0',
    id: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    source: 'signal://github/github%3Aocto%2Frepo%237',
    type: 'github.issue_comment.created',
    subject: 'signal_gateway_entries:issue_comment:492700400',
    time: '2031-02-28T06:00:00.000Z',
    datacontenttype: 'application/json',
    data: {
      session: { agentUid: 'iris', sessionId: 'signal-channel:github:octo/repo#7', bindingName: 'desk' },
      channel: { id: 'github:octo/repo#7', kind: 'issue', replyMode: 'channel', name: 'octo/repo#7 Spelling error' },
      entry: {
        signalChannelId: 'github:octo/repo#7',
        sourceEntryId: 'issue_comment:492700400',
        text: 'I will fix this today.',
        author: { id: '21031067', displayName: 'octocat', kind: 'user' },
        documentId: 'signal-gateway-entry:2jmj7l5rSw0yVb_vlWAYkK_YBwk',
      },
      senderKey: '21031067',
      availableAt: 1_929_952_800_000,
    },
  }),
});

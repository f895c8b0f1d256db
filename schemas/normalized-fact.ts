import { z } from 'zod';
import { defineTopic } from './define.ts';
import { AgentUid, ConnectionId, SessionId, SignalChannelId, SourceEntryId, SourceEventId } from './ids.ts';

/** What a channel is. */
export const ChannelKind = z.enum(['im_dm', 'im_group', 'webhook_endpoint', 'issue', 'alert_stream', 'unknown']);
export type ChannelKind = z.infer<typeof ChannelKind>;

/** How a reply goes back: not at all, as a post of the channel, or under one entry. */
export const ReplyMode = z.enum(['none', 'channel', 'entry']);
export type ReplyMode = z.infer<typeof ReplyMode>;

/** An object of JSON, whatever its members. */
export const JsonObject = z.record(z.string(), z.json());

/**
 * Who wrote an entry, as the provider names them. `id` is stable there; `displayName` is not identity. `agentUid` is set on
 * what an agent of ours wrote, and tells it from what people did.
 */
export const Author = z.object({
  id: z.string().min(1).max(200),
  displayName: z.string().max(500).optional(),
  kind: z.enum(['user', 'bot', 'app', 'unknown']),
  url: z.string().max(2_000).optional(),
  agentUid: AgentUid.optional(),
  principalUid: z.string().min(1).max(200).optional(),
});
export type Author = z.infer<typeof Author>;

/** What the provider says of a channel in one fact. Absent members say nothing and erase nothing. */
export const ChannelFacts = z.object({
  kind: ChannelKind.optional(),
  replyMode: ReplyMode.optional(),
  name: z.string().max(1_000).optional(),
  visibility: z.string().max(64).optional(),
  metadata: JsonObject.optional(),
});
export type ChannelFacts = z.infer<typeof ChannelFacts>;

/** Something an entry points at: a page, a file, a ticket. */
export const Link = z.object({ url: z.string().max(4_000), title: z.string().max(1_000).optional() });
export type Link = z.infer<typeof Link>;

/**
 * Somebody whom an entry names by the provider's own means; `@name` in plain text is none. `targetsCurrentAgent: false` says
 * that it is not the agent of the connection, whatever its kind.
 */
export const Mention = z.object({
  id: z.string().min(1).max(200).optional(),
  displayName: z.string().max(500).optional(),
  kind: z.enum(['user', 'agent', 'bot', 'channel', 'everyone', 'unknown']),
  structured: z.boolean().optional(),
  agentUid: AgentUid.optional(),
  targetsCurrentAgent: z.boolean().optional(),
});
export type Mention = z.infer<typeof Mention>;

const reference = z.string().min(1).max(4_000).optional();

/** A file of an entry. At least one of its references leads to the bytes later, and the normalizer refuses one without. */
export const Attachment = z.object({
  attachmentId: z.int().min(10_000).optional(),
  name: z.string().max(1_000).optional(),
  mediaType: z.string().max(200).optional(),
  sizeBytes: z.int().nonnegative().optional(),
  providerRef: reference,
  providerFileId: reference,
  providerUri: reference,
  blobRef: reference,
  storageRef: reference,
  agentComputerPath: reference,
  filePath: reference,
  /** How far its download is; each report of one download has the same `observedAt`. */
  materialization: z
    .object({ state: z.enum(['pending', 'complete', 'failed']), observedAt: z.int().nonnegative() })
    .optional(),
  metadata: JsonObject.optional(),
});
export type Attachment = z.infer<typeof Attachment>;

/** The end of the year 9999: later instants have no ISO 8601 text that readers agree on. */
const lastWritableInstant = 253_402_300_799_999;

const about = {
  connectionId: ConnectionId,
  provider: z.string().min(1).max(64),
  /** The provider's own id of the event, as `signalbox why` takes it. */
  providerEventId: z.string().min(1).max(200).optional(),
  sourceEventId: SourceEventId,
  signalChannelId: SignalChannelId,
  providerThreadId: z.string().min(1).max(300).optional(),
  channel: ChannelFacts,
  receivedAt: z.int().nonnegative(),
  /** The provider's own time of this revision: orders the mirror's content and nothing else. */
  providerTime: z.int().nonnegative().max(lastWritableInstant).optional(),
  metadata: JsonObject.optional(),
};

/** The event that a fact becomes, declared by the provider: `github.issue_comment.created`. */
const ActorEventType = z.string().regex(/^[a-z0-9_.-]{1,100}$/);

/** A message, comment or object arrived, or a newer revision of one. */
export const EntryReceived = z.object({
  type: z.literal('entry_received'),
  ...about,
  sourceEntryId: SourceEntryId,
  replyToSourceEntryId: SourceEntryId.optional(),
  title: z.string().max(2_000).optional(),
  text: z.string().optional(),
  /** What the provider shows where that is more than the text: cards, blocks, markup. */
  formattedContent: JsonObject.optional(),
  author: Author,
  /** Names the sender where that is another than the author's id. */
  senderKey: z.string().min(1).max(200).optional(),
  links: z.array(Link).max(100).optional(),
  attachments: z.array(Attachment).max(100).optional(),
  mentions: z.array(Mention).max(200).optional(),
  /** Addressed to the agent by the provider's own means, beside mentions: an invocation, an application's command. */
  explicit: z.boolean().optional(),
  /** Texts that stand for a mention of the agent where a command begins with one. */
  commandPrefixes: z.array(z.string().min(1).max(200)).max(20).optional(),
  /** When it was first sent, which no later revision changes. */
  sentAt: z.int().nonnegative().max(lastWritableInstant).optional(),
  actorEventType: ActorEventType.optional(),
  /** The provider says that it changed what had been there: a newer revision, not something that happened to it. */
  edited: z.boolean().optional(),
  /** How many wakes of agents of ours lie behind it, one the cause of the next; absent: none is known. */
  causalDepth: z.int().nonnegative().optional(),
  /** Mirror it and wake nobody. */
  mirrorOnly: z.boolean().optional(),
});
export type EntryReceived = z.infer<typeof EntryReceived>;

/** A message was deleted, recalled, unsent …; `providerLifecycleKind` keeps the provider's own word. */
export const EntryLifecycle = z.object({
  type: z.literal('entry_lifecycle'),
  ...about,
  sourceEntryId: SourceEntryId,
  lifecycleKind: z.literal('removed'),
  providerLifecycleKind: z.string().min(1).max(100).optional(),
  actor: Author.optional(),
});
export type EntryLifecycle = z.infer<typeof EntryLifecycle>;

/** Somebody put a reaction under an entry, or took it away. `rawReactionKey` is the provider's own spelling of its key. */
export const Reaction = z.object({
  type: z.literal('reaction'),
  ...about,
  sourceEntryId: SourceEntryId,
  reactionKey: z.string().min(1).max(200),
  rawReactionKey: z.string().min(1).max(200).optional(),
  actorKey: z.string().min(1).max(200),
  action: z.enum(['add', 'remove']),
});
export type Reaction = z.infer<typeof Reaction>;

/** Somebody pressed, chose or sent something that a provider offered: `actionId` names what, `action` what it holds. */
export const Action = z.object({
  type: z.literal('action'),
  ...about,
  sourceEntryId: SourceEntryId.optional(),
  actionId: z.string().min(1).max(300),
  action: JsonObject,
  actor: Author.optional(),
  /** The session it belongs to, where that is another than its channel's. */
  sessionId: SessionId.optional(),
  actorEventType: ActorEventType.optional(),
});
export type Action = z.infer<typeof Action>;

/** A provider's fact in the one shape that all later stages read. */
export const NormalizedFact = z.discriminatedUnion('type', [EntryReceived, EntryLifecycle, Reaction, Action]);
export type NormalizedFact = z.infer<typeof NormalizedFact>;

/** What a fact is about, for `signalbox why`. */
export const aboutFact = (fact: NormalizedFact) => ({
  connectionId: fact.connectionId,
  ...(fact.providerEventId !== undefined && { providerEventId: fact.providerEventId }),
  sourceEventId: fact.sourceEventId,
  signalChannelId: fact.signalChannelId,
  ...(fact.sourceEntryId !== undefined && { sourceEntryId: fact.sourceEntryId }),
});

/** Who asked, as sessions and batches tell senders apart. */
export const senderKeyOf = ({ senderKey, author }: EntryReceived): string =>
  senderKey ?? author.principalUid ?? author.id;

/** A fact with every required member, for examples and tests. */
export const exampleFact: EntryReceived = EntryReceived.parse({
  type: 'entry_received',
  connectionId: 'octo',
  provider: 'github',
  providerEventId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  sourceEventId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  signalChannelId: 'github:octo/repo#7',
  sourceEntryId: 'issue_comment:492700400',
  channel: { kind: 'issue', replyMode: 'channel', name: 'octo/repo#7 Spelling error' },
  receivedAt: 1_929_952_800_000,
  providerTime: 1_929_952_799_000,
  text: 'I will fix this today.',
  author: { id: '21031067', displayName: 'octocat', kind: 'user' },
  actorEventType: 'github.issue_comment.created',
});

/** The facts of all providers, in one shape. */
export const normalizedFacts = defineTopic<NormalizedFact>({
  name: 'normalized-facts',
  summary: 'Facts in the one shape of all providers, ordered by channel.',
  value: NormalizedFact,
  key: (fact) => fact.signalChannelId,
  keep: { days: 7 },
  maxBytes: 4_194_304,
  about: aboutFact,
  example: exampleFact,
});

import { z } from 'zod';
import { defineTopic } from './define.ts';
import { ConnectionId, SignalChannelId, SourceEntryId, SourceEventId } from './ids.ts';

/** What a channel is. */
export const ChannelKind = z.enum(['im_dm', 'im_group', 'webhook_endpoint', 'issue', 'alert_stream', 'unknown']);
export type ChannelKind = z.infer<typeof ChannelKind>;

/** How a reply goes back: not at all, as a post of the channel, or under one entry. */
export const ReplyMode = z.enum(['none', 'channel', 'entry']);
export type ReplyMode = z.infer<typeof ReplyMode>;

const JsonObject = z.record(z.string(), z.json());

/** Who wrote an entry, as the provider names them. `id` is stable there; `displayName` is not identity. */
export const Author = z.object({
  id: z.string().min(1).max(200),
  displayName: z.string().max(500).optional(),
  kind: z.enum(['user', 'bot', 'app', 'unknown']),
  url: z.string().max(2_000).optional(),
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

/** The end of the year 9999: later instants have no ISO 8601 text that readers agree on. */
const lastWritableInstant = 253_402_300_799_999;

const about = {
  connectionId: ConnectionId,
  provider: z.string().min(1).max(64),
  /** The provider's own id of the event, as `signalbox why` takes it. */
  providerEventId: z.string().min(1).max(200).optional(),
  sourceEventId: SourceEventId,
  signalChannelId: SignalChannelId,
  sourceEntryId: SourceEntryId,
  providerThreadId: z.string().min(1).max(300).optional(),
  channel: ChannelFacts,
  receivedAt: z.int().nonnegative(),
  /** The provider's own time of this revision: orders the mirror's content and nothing else. */
  providerTime: z.int().nonnegative().max(lastWritableInstant).optional(),
  metadata: JsonObject.optional(),
};

/** A message, comment or object arrived, or a newer revision of one. */
export const EntryReceived = z.object({
  type: z.literal('entry_received'),
  ...about,
  replyToSourceEntryId: SourceEntryId.optional(),
  title: z.string().max(2_000).optional(),
  text: z.string().optional(),
  author: Author,
  links: z.array(Link).max(100).optional(),
  /** The event that it becomes, declared by the provider: `github.issue_comment.created`. */
  actorEventType: z
    .string()
    .regex(/^[a-z0-9_.-]{1,100}$/)
    .optional(),
  /** Mirror it and wake nobody. */
  mirrorOnly: z.boolean().optional(),
});
export type EntryReceived = z.infer<typeof EntryReceived>;

/** A message was deleted, recalled, unsent …; `providerLifecycleKind` keeps the provider's own word. */
export const EntryLifecycle = z.object({
  type: z.literal('entry_lifecycle'),
  ...about,
  lifecycleKind: z.literal('removed'),
  providerLifecycleKind: z.string().min(1).max(100).optional(),
  actor: Author.optional(),
});
export type EntryLifecycle = z.infer<typeof EntryLifecycle>;

/** A provider's fact in the one shape that all later stages read. */
export const NormalizedFact = z.discriminatedUnion('type', [EntryReceived, EntryLifecycle]);
export type NormalizedFact = z.infer<typeof NormalizedFact>;

/** What a fact is about, for `signalbox why`. */
export const aboutFact = (fact: NormalizedFact) => ({
  connectionId: fact.connectionId,
  ...(fact.providerEventId !== undefined && { providerEventId: fact.providerEventId }),
  sourceEventId: fact.sourceEventId,
  signalChannelId: fact.signalChannelId,
  sourceEntryId: fact.sourceEntryId,
});

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

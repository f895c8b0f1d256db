import { z } from 'zod';
import { defineProjection } from './define.ts';
import { SessionId, SignalChannelId, SourceEntryId } from './ids.ts';
import { Attachment, Author, ChannelKind, JsonObject, Link, Mention, ReplyMode } from './normalized-fact.ts';
import { rowKey } from './row-key.ts';

const stage = 'mirror-projector';

/** A channel as its provider shows it now. Instants are epoch milliseconds. */
export const Channel = z.object({
  id: SignalChannelId,
  kind: ChannelKind,
  replyMode: ReplyMode,
  name: z.string().nullable(),
  visibility: z.string().nullable(),
  metadata: JsonObject,
  /** The provider's time of what is told above, the newest: what was true before it comes late and is not shown. */
  providerTime: z.int().nonnegative().optional(),
  firstSeenAt: z.int().nonnegative(),
  lastSeenAt: z.int().nonnegative(),
});
export type Channel = z.infer<typeof Channel>;

/** The mirror of channels. */
export const channels = defineProjection({
  name: 'channels',
  stage,
  summary: 'Each channel as its provider shows it now.',
  value: Channel,
  place: (signalChannelId: string) => ({ key: signalChannelId, owner: signalChannelId }),
});

/**
 * An entry as its provider shows it now; it carries no execution state. `documentId` is a digest of its two ids. What few
 * entries have is left out where it is not there. `reactions` names who reacted, by key, in order.
 */
export const Entry = z.object({
  signalChannelId: SignalChannelId,
  sourceEntryId: SourceEntryId,
  providerThreadId: z.string().nullable(),
  replyToSourceEntryId: SourceEntryId.nullable(),
  title: z.string().nullable(),
  text: z.string().nullable(),
  links: z.array(Link),
  author: Author,
  richContent: JsonObject.optional(),
  attachments: z.array(Attachment).optional(),
  mentions: z.array(Mention).optional(),
  sentAt: z.int().nonnegative().optional(),
  reactions: z.record(z.string(), z.array(z.string())).optional(),
  rawReactionKeys: z.record(z.string(), z.string()).optional(),
  metadata: JsonObject,
  providerTime: z.int().nonnegative().nullable(),
  documentId: z.string(),
  contentHash: z.string(),
  firstSeenAt: z.int().nonnegative(),
  lastSeenAt: z.int().nonnegative(),
});
export type Entry = z.infer<typeof Entry>;

/** Names one entry. */
export interface EntryRef {
  readonly signalChannelId: string;
  readonly sourceEntryId: string;
}

/** The mirror of entries. */
export const entries = defineProjection({
  name: 'entries',
  stage,
  summary: 'Each entry as its provider shows it now.',
  value: Entry,
  place: ({ signalChannelId, sourceEntryId }: EntryRef) => ({
    key: rowKey(signalChannelId, sourceEntryId),
    owner: signalChannelId,
  }),
});

/** The provider's time of the newest change that each actor made to each reaction of an entry, by key and actor. */
export const ReactionClock = z.object({
  times: z.record(z.string(), z.record(z.string(), z.int().nonnegative())),
});
export type ReactionClock = z.infer<typeof ReactionClock>;

/** What tells an old change of a reaction from a new one, for as long as old ones may still come. */
export const reactionClocks = defineProjection({
  name: 'reaction-clocks',
  stage,
  summary:
    'When each actor last changed each reaction of an entry, so that an older change that comes late changes nothing.',
  value: ReactionClock,
  place: ({ signalChannelId, sourceEntryId }: EntryRef) => ({
    key: rowKey(signalChannelId, sourceEntryId),
    owner: signalChannelId,
  }),
});

/** An entry as one route knows it. */
export interface RoutedEntryRef extends EntryRef {
  readonly agentUid: string;
  readonly bindingName: string;
}

const routed = ({ agentUid, bindingName, signalChannelId, sourceEntryId }: RoutedEntryRef) => ({
  key: rowKey(agentUid, bindingName, signalChannelId, sourceEntryId),
  owner: signalChannelId,
});

/** A removed entry, remembered so that its late arrival is dropped on this route. */
export const Tombstone = z.object({ removedAt: z.int().nonnegative() });
export type Tombstone = z.infer<typeof Tombstone>;

/** Removed entries by route, for 24 hours unless a setting says otherwise. */
export const tombstones = defineProjection({
  name: 'tombstones',
  stage,
  summary: 'Removed entries by route, so that a late arrival is dropped.',
  value: Tombstone,
  place: routed,
});

/**
 * An actor event that held an entry. `sessionId` where it went to another session than the channel's; `merged` where it is
 * made of several messages, which `handed-over-batches` has.
 */
export const HandedOverInput = z.object({
  eventId: z.string(),
  type: z.string(),
  at: z.int().nonnegative(),
  sessionId: SessionId.optional(),
  merged: z.literal(true).optional(),
});
export type HandedOverInput = z.infer<typeof HandedOverInput>;

/**
 * The newest revision of an entry that a route handled: the same one again, under another event id, is a duplicate.
 * `inputs` are the events that the agent has of it, for 7 days unless a setting says otherwise: in this row, since it is
 * read and written with each entry anyway.
 */
export const HandledRevision = z.object({
  contentHash: z.string(),
  providerTime: z.int().nonnegative().nullable(),
  actorEventType: z.string().nullable(),
  inputs: z.array(HandedOverInput).optional(),
  /** A file of it was still being downloaded: when it has come, the agent is told. */
  awaitsFiles: z.literal(true).optional(),
});
export type HandledRevision = z.infer<typeof HandledRevision>;

/** The newest handled revision of each entry by route. */
export const handledRevisions = defineProjection({
  name: 'handled-revisions',
  stage,
  summary: 'The newest revision of each entry that a route handled, and the events that the agent has of it.',
  value: HandledRevision,
  place: routed,
});

/** A source event that a route has handled. */
export const SeenEvent = z.object({ at: z.int().nonnegative() });
export type SeenEvent = z.infer<typeof SeenEvent>;

/** Source events that a route has handled, for 7 days unless a setting says otherwise. */
export const seenEvents = defineProjection({
  name: 'seen-events',
  stage,
  summary: 'Source events that a route has handled, to know a redelivery.',
  value: SeenEvent,
  place: (ref: {
    readonly agentUid: string;
    readonly bindingName: string;
    readonly signalChannelId: string;
    readonly sourceEventId: string;
  }) => ({ key: rowKey(ref.agentUid, ref.bindingName, ref.sourceEventId), owner: ref.signalChannelId }),
});

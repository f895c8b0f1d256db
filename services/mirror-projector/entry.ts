import { hash } from 'node:crypto';
import type { Entry, HandledRevision } from '../../schemas/mirror.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';

const digest = (text: string): string => hash('sha256', text, 'base64url');

/** A value with the members of all its objects in the order of their names, so that equal content gives equal JSON. */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const members = value as Readonly<Record<string, unknown>>;
  // From entries, since an assignment to a key that a provider chose could reach the prototype.
  return Object.fromEntries(
    Object.keys(members)
      .sort()
      .map((key) => [key, ordered(members[key])]),
  );
}

/** The id under which search and recall know an entry, derived from its two ids. */
export const documentIdOf = (entry: { readonly signalChannelId: string; readonly sourceEntryId: string }): string =>
  `signal-gateway-entry:${digest(JSON.stringify([entry.signalChannelId, entry.sourceEntryId]))}`;

/** What is shown beyond the text; nothing where it is only the text again, marked as Markdown. */
function richContentOf({ formattedContent, text }: EntryReceived): Entry['richContent'] {
  if (formattedContent === undefined) return undefined;
  const { format, body, ...more } = formattedContent;
  if (Object.keys(more).length > 0) return formattedContent;
  if (format === undefined && body === undefined) return undefined;
  return format === 'markdown' && body === text ? undefined : formattedContent;
}

/** What few entries have. Left out where it is not there, so that a plain one stays small. */
function seldom(fact: EntryReceived): Pick<Entry, 'richContent' | 'attachments' | 'mentions'> {
  const { attachments = [], mentions = [] } = fact;
  const richContent = richContentOf(fact);
  return {
    ...(richContent !== undefined && { richContent }),
    ...(attachments.length > 0 && { attachments }),
    ...(mentions.length > 0 && { mentions }),
  };
}

type Content = Pick<
  Entry,
  | ('providerThreadId' | 'replyToSourceEntryId' | 'title' | 'text' | 'links' | 'author' | 'metadata')
  | ('richContent' | 'attachments' | 'mentions')
>;

/** The entry as this fact shows it, whatever is stored; reactions are not its to tell, and stay. */
export function entryOf(fact: EntryReceived, stored: Entry | undefined, at: number): Entry {
  const content: Content = {
    providerThreadId: fact.providerThreadId ?? null,
    replyToSourceEntryId: fact.replyToSourceEntryId ?? null,
    title: fact.title ?? null,
    text: fact.text ?? null,
    links: fact.links ?? [],
    author: fact.author,
    ...seldom(fact),
    metadata: Object.fromEntries(Object.entries(fact.metadata ?? {}).filter(([, value]) => value !== null)),
  };
  return {
    signalChannelId: fact.signalChannelId,
    sourceEntryId: fact.sourceEntryId,
    ...content,
    providerTime: fact.providerTime ?? null,
    documentId: documentIdOf(fact),
    contentHash: hashOf(content),
    ...(fact.sentAt !== undefined && { sentAt: fact.sentAt }),
    ...(stored?.reactions !== undefined && { reactions: stored.reactions }),
    ...(stored?.rawReactionKeys !== undefined && { rawReactionKeys: stored.rawReactionKeys }),
    firstSeenAt: stored?.firstSeenAt ?? at,
    lastSeenAt: at,
  };
}

/** The hash of what an entry says: of its JSON with all members in the order of their names. */
function hashOf(content: Content): string {
  const { author, links, metadata, providerThreadId, replyToSourceEntryId, text, title } = content;
  const { agentUid, displayName, id, kind, principalUid, url } = author;
  // What is undefined leaves no trace in JSON.
  const inOrder = {
    attachments: ordered(content.attachments),
    author: { agentUid, displayName, id, kind, principalUid, url },
    links: links.map((link) => ({ title: link.title, url: link.url })),
    mentions: ordered(content.mentions),
    metadata: ordered(metadata),
    ...{ providerThreadId, replyToSourceEntryId },
    richContent: ordered(content.richContent),
    ...{ text, title },
  };
  return digest(JSON.stringify(inOrder));
}

/** Whether a revision is older than a stored one. Without both times it is not: then the one that came last counts. */
export const isStale = (
  revision: { readonly providerTime: number | null },
  stored: { readonly providerTime: number | null } | undefined,
): boolean =>
  revision.providerTime !== null &&
  stored !== undefined &&
  stored.providerTime !== null &&
  revision.providerTime < stored.providerTime;

/** Whether a route handled this very revision before, under whatever event id. */
export const isSameRevision = (revision: HandledRevision, handled: HandledRevision | undefined): boolean =>
  handled !== undefined &&
  revision.contentHash === handled.contentHash &&
  revision.providerTime === handled.providerTime &&
  revision.actorEventType === handled.actorEventType;

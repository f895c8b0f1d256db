import { hash } from 'node:crypto';
import type { Entry, HandledRevision } from '../../schemas/mirror.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';

const digest = (text: string): string => hash('sha256', text, 'base64url');

/** JSON with the keys of every object in order, so that equal content gives equal text. */
function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  let json = '';
  for (const key of Object.keys(members).sort()) {
    const member = members[key];
    if (member !== undefined) json += `${json === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${json}}`;
}

/** The id under which search and recall know an entry, derived from its two ids. */
export const documentIdOf = (entry: { readonly signalChannelId: string; readonly sourceEntryId: string }): string =>
  `signal-gateway-entry:${digest(JSON.stringify([entry.signalChannelId, entry.sourceEntryId]))}`;

/** The entry as this fact shows it, whatever is stored. */
export function entryOf(fact: EntryReceived, stored: Entry | undefined, at: number): Entry {
  const content = {
    providerThreadId: fact.providerThreadId ?? null,
    replyToSourceEntryId: fact.replyToSourceEntryId ?? null,
    title: fact.title ?? null,
    text: fact.text ?? null,
    links: fact.links ?? [],
    author: fact.author,
    metadata: Object.fromEntries(Object.entries(fact.metadata ?? {}).filter(([, value]) => value !== null)),
  };
  return {
    signalChannelId: fact.signalChannelId,
    sourceEntryId: fact.sourceEntryId,
    ...content,
    providerTime: fact.providerTime ?? null,
    documentId: documentIdOf(fact),
    contentHash: digest(canonicalJson(content)),
    firstSeenAt: stored?.firstSeenAt ?? at,
    lastSeenAt: at,
  };
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

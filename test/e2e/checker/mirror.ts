import { type AcceptedFact, aboutOf, type Expected, type Fact, joined } from './contract.ts';
import { type LogRecord, placeOf } from './log.ts';
import type { Row } from './rows.ts';

const day = 86_400_000;

/** Text of any value that is equal for equal content, whatever the order of members. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)
    .sort()
    .join()}}`;
}

interface Revision {
  readonly contentHash: string;
  readonly providerTime: number | null;
  readonly actorEventType: string | null;
}

/**
 * The mirror once more, written from the specification alone: what the rows must be after these accepted facts, and what
 * must have left the stage. A digest stands here as the text that it is made from.
 */
export function refoldMirror(records: readonly LogRecord[]): {
  readonly rows: ReadonlyMap<string, Row>;
  readonly made: readonly Expected[];
} {
  const rows = new Map<string, Row>();
  const made: Expected[] = [];
  for (const record of records) {
    const { at, partition, rootId = '' } = record;
    // Only records of this connection come here, and the contract says what they hold.
    const { route, fact } = record.value as AcceptedFact;
    const { agentUid, bindingName } = route;
    const name = (projection: string, ...key: readonly string[]) =>
      `mirror-projector/${partition}/${projection}:${joined(...key)}`;
    const routed = [agentUid, bindingName, fact.signalChannelId, fact.sourceEntryId];
    const [seen, tombstone, handled] = [
      name('seen-events', agentUid, bindingName, fact.sourceEventId),
      name('tombstones', ...routed),
      name('handled-revisions', ...routed),
    ];
    // A channel's key is its id as it is: nothing is joined.
    const channel = `mirror-projector/${partition}/channels:${fact.signalChannelId}`;
    const entry = name('entries', fact.signalChannelId, fact.sourceEntryId);

    const decided = (status: string, more: { readonly reason?: string; readonly actorEventId?: string } = {}): void => {
      const { reason, ...ids } = more;
      made.push({
        topic: 'decisions',
        key: rootId,
        source: placeOf(record),
        value: {
          rootId,
          stage: 'mirror-projector',
          status,
          ...(reason !== undefined && { reason }),
          at,
          from: placeOf(record),
          about: { ...aboutOf(fact), agentUid, bindingName, ...ids },
        },
      });
    };

    if (rows.has(seen)) {
      decided('duplicate', { reason: 'same_event' });
      continue;
    }
    if (fact.type === 'entry_lifecycle') {
      rows.set(channel, { v: channelAfter(rows.get(channel)?.v, fact, at) });
      rows.set(tombstone, { v: { removedAt: at }, x: at + day });
      rows.delete(entry);
      rows.delete(handled);
      rows.set(seen, { v: { at }, x: at + 7 * day });
      decided('accepted', { reason: 'entry_removed' });
      continue;
    }
    if (rows.has(tombstone)) {
      decided('dropped_tombstoned');
      continue;
    }
    const revision: Revision = {
      contentHash: canonical(contentOf(fact)),
      providerTime: fact.providerTime ?? null,
      actorEventType: fact.mirrorOnly === true ? null : (fact.actorEventType ?? null),
    };
    // Rows hold what was put there a few lines on.
    const before = rows.get(handled)?.v as Revision | undefined;
    const shown = rows.get(entry)?.v as { firstSeenAt: number; providerTime: number | null } | undefined;
    const now = channelAfter(rows.get(channel)?.v, fact, at);
    rows.set(channel, { v: now });
    if (!isOlder(revision.providerTime, shown?.providerTime)) {
      rows.set(entry, {
        v: {
          signalChannelId: fact.signalChannelId,
          sourceEntryId: fact.sourceEntryId,
          ...contentOf(fact),
          providerTime: revision.providerTime,
          documentId: documentOf(fact),
          contentHash: revision.contentHash,
          firstSeenAt: shown?.firstSeenAt ?? at,
          lastSeenAt: at,
        },
      });
    }
    if (!isOlder(revision.providerTime, before?.providerTime)) rows.set(handled, { v: revision });
    rows.set(seen, { v: { at }, x: at + 7 * day });

    if (before !== undefined && canonical(before) === canonical(revision)) {
      decided('duplicate', { reason: 'same_revision' });
    } else if (revision.actorEventType === null) {
      decided('recorded');
    } else {
      const session = { agentUid, sessionId: `signal-channel:${fact.signalChannelId}`, bindingName };
      made.push({
        topic: 'actor-events',
        key: joined(agentUid, session.sessionId),
        source: placeOf(record),
        value: eventOf(fact, { session, adapter: route.adapter, channel: now, at }),
      });
      decided('accepted', { actorEventId: fact.sourceEventId });
    }
  }
  return { rows, made };
}

const isOlder = (time: number | null, than: number | null | undefined): boolean =>
  time !== null && than !== null && than !== undefined && time < than;

const documentOf = (fact: Fact): string => canonical([fact.signalChannelId, fact.sourceEntryId]);

const withoutNulls = (value: object) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member != null));

const contentOf = (fact: Fact) => ({
  providerThreadId: fact.providerThreadId ?? null,
  replyToSourceEntryId: fact.replyToSourceEntryId ?? null,
  title: fact.title ?? null,
  text: fact.text ?? null,
  links: fact.links ?? [],
  author: fact.author,
  metadata: withoutNulls(fact.metadata ?? {}),
});

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Newer members win, objects are merged; what is not said stays. */
const merged = (older: Members, newer: Members): Members => {
  const all: Record<string, unknown> = { ...older };
  for (const [name, value] of Object.entries(newer)) {
    const had = older[name];
    all[name] = isObject(had) && isObject(value) ? merged(had, value) : value;
  }
  return all;
};

function channelAfter(stored: unknown, { signalChannelId, channel }: Fact, at: number): Members {
  const old = isObject(stored) ? stored : { kind: 'unknown', replyMode: 'none', name: null, visibility: null };
  return {
    id: signalChannelId,
    kind: channel.kind === undefined || channel.kind === 'unknown' ? old.kind : channel.kind,
    replyMode: channel.replyMode === undefined || channel.replyMode === 'none' ? old.replyMode : channel.replyMode,
    name: channel.name || old.name,
    visibility: channel.visibility || old.visibility,
    metadata: merged(isObject(old.metadata) ? old.metadata : {}, channel.metadata ?? {}),
    firstSeenAt: old.firstSeenAt ?? at,
    lastSeenAt: at,
  };
}

function eventOf(
  fact: Fact,
  of: { readonly session: { readonly bindingName: string }; adapter: string; channel: Members; at: number },
): unknown {
  const { id, kind, replyMode, name, visibility } = of.channel;
  const entry = {
    signalChannelId: fact.signalChannelId,
    sourceEntryId: fact.sourceEntryId,
    replyToSourceEntryId: fact.replyToSourceEntryId,
    providerThreadId: fact.providerThreadId,
    title: fact.title,
    text: fact.text,
    author: fact.author,
    links: fact.links?.length === 0 ? undefined : fact.links,
    documentId: documentOf(fact),
    providerTime: fact.providerTime === undefined ? undefined : new Date(fact.providerTime).toISOString(),
  };
  return {
    specversion: '1.0',
    id: fact.sourceEventId,
    source: `signal://${of.adapter}/${encodeURIComponent(fact.signalChannelId)}`,
    type: fact.actorEventType,
    subject: `signal_gateway_entries:${fact.sourceEntryId}`,
    time: new Date(of.at).toISOString(),
    datacontenttype: 'application/json',
    data: {
      session: of.session,
      channel: withoutNulls({ id, kind, replyMode, name, visibility }),
      entry: withoutNulls(entry),
      senderKey: fact.author?.id,
      availableAt: of.at,
    },
  };
}

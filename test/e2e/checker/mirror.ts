import { canonical } from './canonical.ts';
import { type AcceptedFact, aboutOf, type Expected, type Fact, joined } from './contract.ts';
import { type LogRecord, placeOf } from './log.ts';
import type { Row } from './rows.ts';

const day = 86_400_000;

interface Revision {
  readonly contentHash: string;
  readonly providerTime: number | null;
  readonly actorEventType: string | null;
}

/** An event that the agent was given of an entry. */
interface Input {
  readonly eventId: string;
  readonly type: string;
  readonly at: number;
}
type Handled = Revision & { readonly inputs?: readonly Input[] };
const mostInputs = 8;

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
    const session = { agentUid, sessionId: `signal-channel:${fact.signalChannelId}`, bindingName };
    // Rows hold what was put there a few lines on.
    const { inputs: allInputs = [], ...before } = (rows.get(handled)?.v ?? {}) as Partial<Handled>;
    const inputs = allInputs.filter((input) => at - input.at < 7 * day);
    const now = channelAfter(rows.get(channel)?.v, fact, at);
    const envelope = { fact, session, adapter: route.adapter, channel: now, at };
    const tell = (event: { readonly id: string }): void => {
      made.push({
        topic: 'actor-events',
        key: joined(agentUid, session.sessionId),
        source: placeOf(record),
        value: event,
      });
    };

    if (fact.type === 'entry_lifecycle') {
      rows.set(channel, { v: now });
      rows.set(tombstone, { v: { removedAt: at }, x: at + day });
      rows.delete(entry);
      rows.delete(handled);
      rows.set(seen, { v: { at }, x: at + 7 * day });
      const id = `${fact.sourceEventId}:removed:${session.sessionId}`;
      if (inputs.length > 0) {
        const { signalChannelId, sourceEntryId, providerThreadId } = fact;
        const gone = { signalChannelId, sourceEntryId, providerThreadId, documentId: documentOf(fact) };
        const { providerLifecycleKind: providerKind, actor } = fact;
        const lifecycle = { kind: 'removed', providerKind, actor, inputs: inputs.map(({ eventId }) => ({ eventId })) };
        const type = 'signal.entry.removed';
        tell(eventOf(envelope, { id, type }, { entry: withoutNulls(gone), lifecycle: withoutNulls(lifecycle) }));
      }
      decided('accepted', { reason: 'entry_removed', ...(inputs.length > 0 && { actorEventId: id }) });
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
    const shown = rows.get(entry)?.v as { firstSeenAt: number; providerTime: number | null } | undefined;
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
    rows.set(seen, { v: { at }, x: at + 7 * day });
    const older = isOlder(revision.providerTime, before.providerTime);
    const keep = (held: readonly Input[]): void => {
      rows.set(handled, { v: { ...(older ? before : revision), ...(held.length > 0 && { inputs: held }) } });
    };

    if (canonical(before) === canonical(revision)) {
      keep(inputs);
      decided('duplicate', { reason: 'same_revision' });
    } else if (revision.actorEventType === null) {
      if (!older) keep(inputs);
      decided('recorded');
    } else if (fact.edited === true && inputs.length > 0) {
      if (older) {
        decided('duplicate', { reason: 'older_revision' });
        continue;
      }
      keep(inputs.map((input) => ({ ...input, at })));
      const told = toldOf(fact);
      const replaced = inputs.map(({ eventId, type }) => ({
        eventId,
        replacement: eventOf(envelope, { id: `retry:${eventId}:with:${fact.sourceEventId}`, type }, told),
      }));
      const lifecycle = { kind: 'edited', providerKind: revision.actorEventType, inputs: replaced };
      const id = `${fact.sourceEventId}:edited:${session.sessionId}`;
      tell(eventOf(envelope, { id, type: 'signal.entry.edited' }, { ...told, lifecycle }));
      decided('accepted', { actorEventId: id });
    } else {
      const [id, type] = [fact.sourceEventId, revision.actorEventType];
      keep([...inputs, { eventId: id, type, at }].slice(-mostInputs));
      tell(eventOf(envelope, { id, type }, toldOf(fact)));
      decided('accepted', { actorEventId: id });
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

function channelAfter(stored: unknown, { signalChannelId, channel, providerTime }: Fact, at: number): Members {
  const old = isObject(stored) ? stored : { kind: 'unknown', replyMode: 'none', name: null, visibility: null };
  const metadata = channel.metadata ?? {};
  const oldMetadata = isObject(old.metadata) ? old.metadata : {};
  const late = providerTime !== undefined && typeof old.providerTime === 'number' && providerTime < old.providerTime;
  const says = Boolean(channel.name || channel.visibility || Object.keys(metadata).length > 0);
  /** Of a fact that is older than what is known, only what was not known. */
  const one = (known: unknown, told: unknown, nothing: unknown) => {
    const [first, second] = late ? [known, told] : [told, known];
    return first === undefined || first === '' || first === nothing ? second || nothing : first;
  };
  return {
    id: signalChannelId,
    kind: one(old.kind, channel.kind, 'unknown'),
    replyMode: one(old.replyMode, channel.replyMode, 'none'),
    name: one(old.name, channel.name, null),
    visibility: one(old.visibility, channel.visibility, null),
    metadata: late ? merged(metadata, oldMetadata) : merged(oldMetadata, metadata),
    ...withoutNulls({ providerTime: says && !late ? (providerTime ?? old.providerTime) : old.providerTime }),
    firstSeenAt: old.firstSeenAt ?? at,
    lastSeenAt: at,
  };
}

/** What an event tells of an entry that is there. */
const toldOf = (fact: Fact) => ({
  entry: withoutNulls({
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
  }),
  senderKey: fact.author?.id,
});

function eventOf(
  of: { readonly fact: Fact; readonly session: object; adapter: string; channel: Members; at: number },
  { id, type }: { readonly id: string; readonly type: string },
  told: object,
): { readonly id: string } {
  const { fact, channel } = of;
  const { kind, replyMode, name, visibility } = channel;
  const envelope = {
    specversion: '1.0',
    id,
    source: `signal://${of.adapter}/${encodeURIComponent(fact.signalChannelId)}`,
    type,
    subject: `signal_gateway_entries:${fact.sourceEntryId}`,
    time: new Date(of.at).toISOString(),
    datacontenttype: 'application/json',
  };
  const about = { session: of.session, channel: withoutNulls({ id: channel.id, kind, replyMode, name, visibility }) };
  return { ...envelope, data: { ...about, ...told, availableAt: of.at } } as { readonly id: string };
}

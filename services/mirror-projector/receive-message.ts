import { hash } from 'node:crypto';
import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { actorEvents, type QuotedEntry } from '../../schemas/actor-event.ts';
import type { BatchEntry, OpenBatch, OpenBatches } from '../../schemas/batch.ts';
import type { HandledRevision } from '../../schemas/mirror.ts';
import { type EntryReceived, senderKeyOf } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, type Message, outcome, put, reject } from '../../shared/stage/index.ts';
import { contentOf, eventOf, subjectOfEntry } from './actor-event.ts';
import { type Addressing, addressingOf } from './addressing.ts';
import { closeBatches, keepBatches } from './batch/close.ts';
import { routeEntry } from './batch/route.ts';
import { mergeChannel } from './channel.ts';
import { type Command, commandOf } from './command.ts';
import type { Settings } from './config.ts';
import { rememberEntry } from './context.ts';
import { entryOf, isStale } from './entry.ts';
import { awaitsFiles, inputsOf, isChangeOfInput } from './inputs.ts';
import type { MessagePlaces, MessageView } from './places.ts';
import { type Quotable, quotedAuthor, quoteOf } from './quote.ts';
import { receiveEntry } from './receive-entry.ts';

/** A message of a conversation that came on a route. */
export interface Received {
  readonly view: MessageView;
  readonly places: MessagePlaces;
  readonly route: RouteOfFact;
  readonly fact: EntryReceived;
  readonly message: Pick<Message<unknown>, 'id' | 'rootId' | 'at'>;
  readonly settings: Settings;
}

/** What is found out about a message before anything is decided on it. */
interface Known {
  readonly addressing: Addressing;
  readonly replyTo: QuotedEntry | undefined;
}

const addressedType = 'im.message.addressed';
const nothingOpen: OpenBatches = { batches: [], shownEntryIds: [] };
/** An event tells what its entry does and a little more, and has to fit the topic that the entry fitted. */
const maxMessageBytes = 2_097_152;

/** A message of a conversation: it waits with what else is being said, unless it is a command or has a type of its own. */
export function receiveMessage(received: Received): readonly Effect[] {
  const { view, route, fact, settings } = received;
  // Not even remembered as seen: once the tombstone has expired, the same event counts as new.
  if (view.tombstone !== undefined) return [outcome('dropped_tombstoned')];

  const ownWriting = fact.author.agentUid === route.agentUid;
  if (fact.mirrorOnly === true || ownWriting) {
    return [...receiveEntry({ ...received, fact: { ...fact, mirrorOnly: true } }), ...remembered(received)];
  }
  const quotable: Quotable = {
    open: view.batches?.batches ?? [],
    mirrored: view.quoted,
    ownRoute: view.quotedHandled !== undefined,
  };
  const addressing = addressingOf(fact, route.agentUid, {
    repliedAgentUid: quotedAuthor(fact, quotable)?.agentUid,
    threadAgentUids: view.thread?.agentUids ?? [],
  });
  const known: Known = { addressing, replyTo: quoteOf(fact, route.agentUid, quotable) };
  // What waits as text and is edited into a command stays text.
  const waits = holderOf(quotable.open, fact) !== undefined;
  const command = addressing.addressed && !waits ? commandOf(fact, addressing.explicit) : undefined;
  if (view.handled !== undefined && !waits && (command !== undefined || fact.actorEventType === undefined)) {
    return toldAgain(received, view.handled);
  }
  if (command !== undefined) return obey(received, known, command);
  if (fact.actorEventType !== undefined) return [...receiveEntry(received), ...remembered(received)];
  const bytes = Buffer.byteLength(JSON.stringify(fact));
  if (bytes > maxMessageBytes) return [reject('output-too-large', { topic: actorEvents.name, bytes })];
  return gather(received, known, bytes, settings);
}

/** A message that is past its batch: the mirror shows what it says now, and the agent is told where it was given it. */
function toldAgain(received: Received, handled: HandledRevision): readonly Effect[] {
  const { route, fact, message, settings } = received;
  const { at } = message;
  if (isChangeOfInput(route, fact, handled, inputsOf(handled, at, settings.inputRetentionMs))) {
    const type = fact.actorEventType ?? handled.actorEventType ?? addressedType;
    return [...receiveEntry({ ...received, fact: { ...fact, actorEventType: type } }), ...remembered(received)];
  }
  return [...mirror(received, handled.actorEventType).effects, outcome('duplicate', { reason: 'same_entry' })];
}

/** A command is work at once. What its sender said before it goes first, but for a stop, which is to overtake it. */
function obey(received: Received, { replyTo }: Known, command: Command): readonly Effect[] {
  const { view, route, fact, message, places, settings } = received;
  const { at } = message;
  const type = `command.${command.name}`;
  const mirrored = mirror(received, type);
  const before = view.batches ?? nothingOpen;
  const sender = senderKeyOf(fact);
  const first = command.name === 'stop' ? [] : before.batches.filter((batch) => batch.requesterSenderKey === sender);
  const { channel, entry, recent } = mirrored;
  const closing = closeBatches(first, {
    ...{ route, channel, recent, at },
    shownEntryIds: before.shownEntryIds,
    inputRetentionMs: settings.inputRetentionMs,
  });
  const open = before.batches.filter((batch) => !first.includes(batch));
  const content = contentOf(fact, entry);
  const event = eventOf(
    { route, channel, at },
    { id: fact.sourceEventId, type, subject: subjectOfEntry(fact) },
    {
      ...content,
      ...(content.entry !== undefined && replyTo !== undefined && { entry: { ...content.entry, replyTo } }),
      command,
    },
  );
  return [
    ...mirrored.effects,
    put(places.handled, { ...mirrored.revision, inputs: [{ eventId: event.id, type, at }] }),
    ...closing.effects,
    emit(actorEvents, event),
    ...(first.length > 0
      ? keepBatches(route, fact.signalChannelId, before, { batches: [...open], shownEntryIds: closing.shownEntryIds })
      : []),
    outcome('accepted', { about: { actorEventId: event.id } }),
  ];
}

/** Everything else waits for the rest of what is being said, in the batch of its thread. */
function gather(received: Received, known: Known, bytes: number, settings: Settings): readonly Effect[] {
  const { view, route, fact, message } = received;
  const { at } = message;
  const { addressing, replyTo } = known;
  const before = view.batches ?? nothingOpen;
  const policy = route.unaddressedGroupMessagePolicy;
  const shows = addressing.addressed || policy !== 'ignore' || view.handled !== undefined;
  const mirrored = mirror(received, addressing.addressed ? addressedType : null, shows);
  const { entry, channel, recent } = mirrored;
  const candidate: BatchEntry = {
    fact,
    rootId: message.rootId,
    contentHash: entry.contentHash,
    receivedAt: at,
    observedAt: at,
    explicit: addressing.addressed,
    addressable: addressing.addressable,
    namesOthers: addressing.namesOthers,
    mirrored: shows,
    ...(replyTo !== undefined && { replyTo }),
    bytes,
  };
  const routed = routeEntry(before.batches, candidate, {
    at,
    newId: hash('sha256', message.id, 'base64url').slice(0, 22),
    policy,
    windows: route.windows,
    limits: settings,
    addressed: addressing.addressed,
  });
  const { shownEntryIds } = before;
  const { inputRetentionMs } = settings;
  const closing = closeBatches(routed.closed, { route, channel, recent, shownEntryIds, at, inputRetentionMs });
  const after = { batches: [...routed.open], shownEntryIds: closing.shownEntryIds };
  const isClosed = !routed.open.includes(routed.holds);
  return [
    ...mirrored.effects,
    ...closing.effects,
    ...(routed.changed || routed.closed.length > 0 ? keepBatches(route, fact.signalChannelId, before, after) : []),
    isClosed ? outcome('duplicate', { reason: 'same_entry' }) : outcome(statusOf(routed.holds)),
  ];
}

/** What became of an entry that waits: it is part of a request, or one of the messages that ask nobody. */
function statusOf({ mode, policy }: OpenBatch): 'accepted' | 'ignored' | 'recorded' {
  if (mode === 'addressed') return 'accepted';
  return policy === 'ignore' ? 'ignored' : 'recorded';
}

const holderOf = (open: readonly OpenBatch[], fact: EntryReceived): OpenBatch | undefined =>
  open.find(({ entries }) => entries.some((held) => held.fact.sourceEntryId === fact.sourceEntryId));

/** Puts a message into the mirror, where it is to be shown, and says what is there. */
function mirror(received: Received, actorEventType: string | null, shows = true) {
  const { view, places, fact, message, settings } = received;
  const { at } = message;
  const channel = mergeChannel(view.channel, fact, at);
  const entry = entryOf(fact, view.entry, at);
  const revision = {
    ...(view.handled?.inputs !== undefined && { inputs: view.handled.inputs }),
    contentHash: entry.contentHash,
    providerTime: entry.providerTime,
    actorEventType,
    ...(awaitsFiles(fact) && { awaitsFiles: true as const }),
  };
  const isShown = shows && !isStale(entry, view.entry);
  const effects: readonly Effect[] = [
    put(places.channel, channel),
    ...(isShown ? [put(places.entry, entry), ...remembered(received)] : []),
    ...(shows && !isStale(revision, view.handled) ? [put(places.handled, revision)] : []),
    put(places.seen, { at }, at + settings.seenRetentionMs),
  ];
  const recent = view.recent?.entries ?? [];
  return { channel, entry, revision, recent: isShown ? rememberEntry(recent, fact, at) : recent, effects };
}

/** A message that was kept out of the mirror until it became part of what addresses the agent. */
export function showEntry(options: Pick<Received, 'view' | 'places' | 'fact' | 'message'>): readonly Effect[] {
  const { view, places, fact, message } = options;
  const entry = entryOf(fact, view.entry, message.at);
  if (view.tombstone !== undefined || isStale(entry, view.entry)) return [];
  return [put(places.entry, entry), ...remembered(options)];
}

/** What a mirrored message leaves beside its entry: it was said here of late, and who said it writes here. */
function remembered({
  view,
  places,
  fact,
  message: { at },
}: Pick<Received, 'view' | 'places' | 'fact' | 'message'>): readonly Effect[] {
  if (isStale({ providerTime: fact.providerTime ?? null }, view.entry)) return [];
  const { agentUid } = fact.author;
  const agents = view.thread?.agentUids ?? [];
  const joins = agentUid !== undefined && !agents.includes(agentUid);
  const known = view.recent?.entries ?? [];
  const recent = rememberEntry(known, fact, at);
  return [
    ...(recent === known ? [] : [put(places.recent, { entries: [...recent] })]),
    ...(joins && places.thread !== undefined ? [put(places.thread, { agentUids: [...agents, agentUid] })] : []),
  ];
}

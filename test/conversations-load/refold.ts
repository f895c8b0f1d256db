import { joined } from '../e2e/checker/contract.ts';
import type { LogRecord } from '../e2e/checker/log.ts';
import { placeOf } from '../e2e/checker/log.ts';
import type { ChatFact } from './chat.ts';

/** What a record of `accepted-facts` holds of this load. */
export interface Accepted {
  readonly type: 'fact.accepted' | 'batch.due' | 'entry.addressed' | 'input.changed';
  readonly route: {
    readonly agentUid: string;
    readonly bindingName: string;
    readonly unaddressedGroupMessagePolicy: string;
  };
  readonly fact: ChatFact;
  readonly signalChannelId: string;
  readonly providerThreadId?: string;
  readonly revision: number;
}

/** An event that hands messages over: one batch of them, or one command. */
export interface HandOver {
  /** Agent, binding and channel. */
  readonly lane: string;
  readonly type: string;
  readonly sourceEntryIds: readonly string[];
  readonly text: string;
}

/** What must have come of accepted facts. */
export interface Refolded {
  /** In the order of each lane. */
  readonly events: readonly HandOver[];
  /** By the place of each fact: the ends that it may have. */
  readonly ends: ReadonlyMap<string, readonly string[]>;
  /** Of batches that a timer closed: by how much it came after their due time, in milliseconds. */
  readonly lateMs: readonly number[];
  /** By the place of the timer's record: when the batch was due that it handed over. */
  readonly dueAt: ReadonlyMap<string, number>;
  readonly timers: number;
  /** Batches that closed, with an event or without. */
  readonly closed: number;
  /** Batches that are still open at the end. */
  readonly open: number;
}

interface Held {
  readonly fact: ChatFact;
  readonly receivedAt: number;
  readonly observedAt: number;
  readonly explicit: boolean;
  readonly namesOthers: boolean;
  readonly addressable: boolean;
}

type Entry = Held & { readonly addressed: boolean; readonly rootId: string };

interface Batch {
  readonly thread: string;
  mode: 'neutral' | 'addressed';
  requester: string | undefined;
  replyTo: string | undefined;
  held: Held[];
  dueAt: number;
  /** When something was taken out, by which it may be due at once. */
  shortenedAt: number;
  /** The root of what changed it last, which is that of its timer. */
  changedBy: string;
  revision: number;
}

/** What one route knows of one channel. */
interface Lane {
  readonly name: string;
  readonly agentUid: string;
  readonly policy: string;
  readonly batches: Map<string, Batch>;
  readonly seen: Set<string>;
  readonly handled: Set<string>;
  readonly removed: Set<string>;
}

/** What is known of a channel by all routes: who wrote what, and which agents wrote in its threads. */
interface Mirror {
  readonly shown: Map<string, ChatFact>;
  readonly agents: Map<string, Set<string>>;
}

/** The defaults of the windows, in milliseconds. */
const windows = { addressed: 1_000, attachments: 1_200, longText: 2_000, neutral: 600, ambient: 15_000, most: 300_000 };
const [longText, mostEntries, mostSigns, mostSignsOfLong] = [3_000, 8, 4_000, 8_000];
const commands = /^\s*\/(?:new|compress|retry|steer|stop|llm)(?:[ \n\t]|$)/i;

const lengthOf = ({ text = '' }: ChatFact): number => [...text].length;
const senderOf = ({ author }: ChatFact): string => author?.id ?? '';
const threadOf = ({ providerThreadId = '' }: ChatFact): string => providerThreadId;
const isFiled = ({ attachments = [] }: ChatFact): boolean => attachments.length > 0;

/**
 * The batches of a conversation once more, written from the specification alone: which messages must have been handed over
 * together, in which order, as what, and when they were due. `records` are those of one partition, in order.
 */
export function refoldConversations(records: readonly LogRecord[]): Refolded {
  const lanes = new Map<string, Lane>();
  const mirrors = new Map<string, Mirror>();
  const events: HandOver[] = [];
  const ends = new Map<string, readonly string[]>();
  const lateMs: number[] = [];
  const dueAt = new Map<string, number>();
  let [timers, closed] = [0, 0];

  const laneOf = ({ route, fact, signalChannelId }: Accepted): Lane => {
    const name = joined(route.agentUid, route.bindingName, fact?.signalChannelId ?? signalChannelId);
    const { agentUid, unaddressedGroupMessagePolicy: policy } = route;
    const created = () => ({
      ...{ name, agentUid, policy, batches: new Map<string, Batch>() },
      ...{ seen: new Set<string>(), handled: new Set<string>(), removed: new Set<string>() },
    });
    return getOr(lanes, name, created);
  };
  const mirrorOf = (channel: string): Mirror =>
    getOr(mirrors, channel, () => ({ shown: new Map(), agents: new Map() }));

  const close = (lane: Lane, batch: Batch): boolean => {
    closed++;
    if (lane.batches.get(batch.thread) === batch) lane.batches.delete(batch.thread);
    const wakes = batch.mode === 'addressed' || lane.policy === 'may_intervene';
    if (!wakes) return false;
    const facts = batch.held.map(({ fact }) => fact);
    for (const { sourceEntryId } of facts) lane.handled.add(sourceEntryId);
    events.push({
      lane: lane.name,
      type: batch.mode === 'addressed' ? 'im.message.addressed' : 'im.message.may_intervene',
      sourceEntryIds: facts.map(({ sourceEntryId }) => sourceEntryId),
      text: facts.flatMap(({ text = '' }) => (text.trim() === '' ? [] : [text])).join('\n'),
    });
    return true;
  };

  const due = (lane: Lane, record: LogRecord, { providerThreadId = '', revision }: Accepted): void => {
    timers++;
    const batch = lane.batches.get(providerThreadId);
    // Another batch of the thread may have come as far, where timers are late.
    const isItsTimer = batch?.revision === revision && batch.changedBy === record.rootId;
    if (batch === undefined || !isItsTimer || batch.dueAt > record.at) return;
    const since = Math.max(batch.dueAt, batch.shortenedAt);
    lateMs.push(record.at - since);
    if (close(lane, batch)) dueAt.set(placeOf(record), since);
  };

  const receive = (lane: Lane, mirror: Mirror, fact: ChatFact, { at, rootId = '' }: LogRecord): readonly string[] => {
    const { sourceEntryId: id } = fact;
    if (lane.removed.has(id)) return ['dropped_tombstoned'];
    lane.seen.add(fact.sourceEventId);
    if (fact.mirrorOnly === true) {
      show(mirror, fact);
      return ['recorded', 'duplicate'];
    }
    const held = heldBy(lane, id);
    const stands = addressingOf(fact, lane, mirror);
    const isCommand = held === undefined && stands.addressed && commands.test(withoutPrefix(fact));
    if (held === undefined && lane.handled.has(id)) {
      show(mirror, fact);
      // Of what the agent has, it is told that it was edited; of what it has not, and of the same again, it is not.
      return fact.edited === true ? ['accepted', 'duplicate'] : ['duplicate'];
    }
    if (isCommand) {
      show(mirror, fact);
      lane.handled.add(id);
      obey(lane, fact);
      return ['accepted'];
    }
    const shows = stands.addressed || lane.policy !== 'ignore' || lane.handled.has(id);
    const isPast = held !== undefined && held.batch.dueAt <= at;
    for (const batch of [...lane.batches.values()].sort((a, b) => a.dueAt - b.dueAt)) {
      if (batch.dueAt <= at) close(lane, batch);
    }
    if (shows) {
      show(mirror, fact);
      lane.handled.add(id);
    }
    if (isPast) return ['duplicate'];
    const entry = { fact, receivedAt: held?.entry.receivedAt ?? at, observedAt: at, rootId, ...stands };
    const batch = held === undefined ? gather(lane, entry) : tellAgain(lane, held, entry);
    if (batch.mode === 'addressed') return ['accepted'];
    return [lane.policy === 'ignore' ? 'ignored' : 'recorded'];
  };

  const obey = (lane: Lane, fact: ChatFact): void => {
    const text = withoutPrefix(fact);
    const name = (commands.exec(text)?.[0] ?? '').trim().slice(1).toLowerCase();
    for (const batch of [...lane.batches.values()]) {
      if (name !== 'stop' && batch.requester === senderOf(fact)) close(lane, batch);
    }
    const { sourceEntryId, text: raw = '' } = fact;
    events.push({ lane: lane.name, type: `command.${name}`, sourceEntryIds: [sourceEntryId], text: raw });
  };

  /** Puts a message into the batch of its thread, by the routing table. */
  const gather = (lane: Lane, entry: Entry): Batch => {
    const { fact, addressed } = entry;
    const [thread, sender] = [threadOf(fact), senderOf(fact)];
    const batch = lane.batches.get(thread);
    const start = (mode: Batch['mode'], held: Held[] = [entry]): Batch => {
      const fresh: Batch = {
        ...{ thread, mode, requester: mode === 'addressed' ? sender : undefined },
        ...{ replyTo: fact.replyToSourceEntryId, held, dueAt: 0, shortenedAt: 0, changedBy: '', revision: 0 },
      };
      return touched(lane, fresh, entry.rootId);
    };
    const instead = (mode: Batch['mode']): Batch => {
      if (batch !== undefined) close(lane, batch);
      return start(mode);
    };
    const join = (into: Batch): Batch => {
      into.held.push(entry);
      return touched(lane, into, entry.rootId);
    };
    if (batch === undefined) return start(addressed ? 'addressed' : 'neutral');
    if (batch.replyTo !== fact.replyToSourceEntryId) return instead(addressed ? 'addressed' : 'neutral');
    if (batch.mode === 'addressed') {
      const follows = batch.requester === sender && !entry.namesOthers && (addressed || entry.addressable);
      if (!follows) return instead(addressed ? 'addressed' : 'neutral');
      return isFull(batch, fact) ? instead('addressed') : join(batch);
    }
    if (!addressed) return join(batch);
    const own = batch.held.findLastIndex((each) => !each.addressable || senderOf(each.fact) !== sender) + 1;
    const asked = [...batch.held.slice(own), entry];
    if (own === 0) {
      batch.mode = 'addressed';
      batch.requester = sender;
      return join(batch);
    }
    batch.held = batch.held.slice(0, own);
    close(lane, batch);
    return start('addressed', asked);
  };

  /** Another telling of what waits. What it says to somebody else now goes where a new message would. */
  const tellAgain = (lane: Lane, { batch, entry: held }: Found, entry: Entry): Batch => {
    const [now, before] = [entry.fact.providerTime ?? 0, held.fact.providerTime ?? 0];
    if (now < before || (now === before && entry.fact.text === held.fact.text)) return batch;
    if (entry.explicit !== held.explicit || entry.addressable !== held.addressable) {
      takeOut(lane, { batch, entry: held }, { at: entry.observedAt, rootId: entry.rootId });
      return gather(lane, entry);
    }
    batch.held = batch.held.map((each) => (each === held ? entry : each));
    return touched(lane, batch, entry.rootId);
  };

  const remove = (lane: Lane, mirror: Mirror, fact: ChatFact, record: LogRecord): void => {
    const { sourceEntryId: id, providerThreadId } = fact;
    lane.seen.add(fact.sourceEventId);
    lane.removed.add(id);
    lane.handled.delete(id);
    mirror.shown.delete(id);
    const found = heldBy(lane, id);
    if (found === undefined || (providerThreadId !== undefined && found.batch.thread !== providerThreadId)) return;
    takeOut(lane, found, record);
  };

  const decide = (record: LogRecord, accepted: Accepted): readonly string[] => {
    const { fact } = accepted;
    const [lane, mirror] = [laneOf(accepted), mirrorOf(fact.signalChannelId)];
    if (lane.seen.has(fact.sourceEventId)) return ['duplicate'];
    switch (fact.type) {
      case 'entry_received':
        return receive(lane, mirror, fact, record);
      case 'entry_lifecycle':
        remove(lane, mirror, fact, record);
        return ['accepted'];
      case 'reaction':
        if (!mirror.shown.has(fact.sourceEntryId)) return ['ignored_unknown_entry'];
        lane.seen.add(fact.sourceEventId);
        return ['mirrored'];
      case 'action':
        lane.seen.add(fact.sourceEventId);
        return ['accepted'];
    }
  };

  for (const record of records) {
    // Only records of this load come here, and the contract says what they hold.
    const accepted = record.value as Accepted;
    switch (accepted.type) {
      case 'fact.accepted':
        ends.set(placeOf(record), decide(record, accepted));
        break;
      case 'batch.due':
        due(laneOf(accepted), record, accepted);
        break;
      case 'entry.addressed':
        if (laneOf(accepted).removed.has(accepted.fact.sourceEntryId)) break;
        show(mirrorOf(accepted.fact.signalChannelId), accepted.fact);
        break;
      case 'input.changed':
        // A notice of what the agent has already: nothing is handed over by it.
        break;
    }
  }
  const open = [...lanes.values()].reduce((sum, { batches }) => sum + batches.size, 0);
  return { events, ends, lateMs, dueAt, timers, closed, open };
}

function getOr<V>(map: Map<string, V>, key: string, created: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = created();
  map.set(key, fresh);
  return fresh;
}

interface Found {
  readonly batch: Batch;
  readonly entry: Held;
}

function heldBy(lane: Lane, sourceEntryId: string | undefined): Found | undefined {
  for (const batch of lane.batches.values()) {
    const entry = batch.held.find(({ fact }) => fact.sourceEntryId === sourceEntryId);
    if (entry !== undefined) return { batch, entry };
  }
  return undefined;
}

function addressingOf(fact: ChatFact, lane: Lane, mirror: Mirror) {
  const { agentUid } = lane;
  const quoted =
    heldBy(lane, fact.replyToSourceEntryId)?.entry.fact ?? mirror.shown.get(fact.replyToSourceEntryId ?? '');
  const writesHere = mirror.agents.get(threadOf(fact))?.has(agentUid) === true;
  const follows = fact.replyToSourceEntryId !== undefined && (quoted?.author?.agentUid === agentUid || writesHere);
  const mentions = fact.mentions ?? [];
  const named = mentions.some((mention) => mention.agentUid === agentUid);
  const namesOthers = mentions.some((mention) => mention.agentUid !== agentUid);
  const isGroup = fact.channel.kind === 'im_group';
  const addressed = !isGroup || named || follows;
  return { addressed, explicit: addressed, namesOthers, addressable: isGroup && !addressed && !namesOthers };
}

function show(mirror: Mirror, fact: ChatFact): void {
  const known = mirror.shown.get(fact.sourceEntryId);
  if (known === undefined || (fact.providerTime ?? 0) >= (known.providerTime ?? 0)) {
    mirror.shown.set(fact.sourceEntryId, fact);
  }
  const { author, providerThreadId } = fact;
  if (author?.agentUid === undefined || providerThreadId === undefined) return;
  getOr(mirror.agents, providerThreadId, () => new Set()).add(author.agentUid);
}

const withoutPrefix = ({ text = '', commandPrefixes = [] }: ChatFact): string => {
  const prefix = commandPrefixes.find((each) => text.startsWith(each));
  return prefix === undefined ? text : text.slice(prefix.length);
};

function isFull({ held }: Batch, fact: ChatFact): boolean {
  const lengths = [...held.map((each) => lengthOf(each.fact)), lengthOf(fact)];
  const most = lengths.slice(-2).some((length) => length >= longText) ? mostSignsOfLong : mostSigns;
  return held.length >= mostEntries || lengths.reduce((sum, length) => sum + length, 0) > most;
}

/** Takes an entry out of the batch that holds it; the last one takes the batch with it. */
function takeOut(lane: Lane, { batch, entry }: Found, by: Pick<LogRecord, 'at' | 'rootId'>): void {
  batch.held = batch.held.filter((each) => each !== entry);
  const last = batch.held.at(-1);
  if (last === undefined) {
    lane.batches.delete(batch.thread);
    return;
  }
  if (batch.mode === 'addressed' && !batch.held.some(({ explicit }) => explicit)) {
    batch.mode = 'neutral';
    batch.requester = undefined;
  }
  batch.replyTo = last.fact.replyToSourceEntryId;
  batch.shortenedAt = by.at;
  changed(lane, batch, by.rootId);
}

/** A batch that holds something new: the last of its lane. */
function touched(lane: Lane, batch: Batch, by: string): Batch {
  lane.batches.delete(batch.thread);
  lane.batches.set(batch.thread, batch);
  return changed(lane, batch, by);
}

/** A change of a batch: its entries come in order, and the window begins anew. */
function changed(lane: Lane, batch: Batch, by = ''): Batch {
  batch.changedBy = by;
  batch.held.sort(
    (a, b) =>
      (a.fact.sentAt ?? 0) - (b.fact.sentAt ?? 0) ||
      a.receivedAt - b.receivedAt ||
      (a.fact.sourceEntryId < b.fact.sourceEntryId ? -1 : 1),
  );
  batch.revision++;
  batch.dueAt = dueAtOf(lane, batch);
  return batch;
}

function dueAtOf({ policy }: Lane, { mode, held }: Batch): number {
  const last = held.at(-1)?.fact;
  const told = Math.max(...held.map(({ observedAt }) => observedAt));
  const first = Math.min(...held.map(({ receivedAt }) => receivedAt));
  if (last === undefined) return told;
  if (mode === 'neutral' && policy === 'may_intervene') return Math.min(told + windows.ambient, first + windows.most);
  if (mode === 'addressed' && lengthOf(last) >= longText) return told + windows.longText;
  if (isFiled(last)) return told + windows.attachments;
  return told + (mode === 'addressed' ? windows.addressed : windows.neutral);
}

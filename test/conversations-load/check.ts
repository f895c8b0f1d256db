import { isDeepStrictEqual } from 'node:util';
import { type Decision, joined } from '../e2e/checker/contract.ts';
import { firstAppearances, type LogRecord, placeOf, withTimes } from '../e2e/checker/log.ts';
import type { ChatFact } from './chat.ts';
import { type Accepted, type HandOver, refoldConversations } from './refold.ts';

/** A binding of the load, and what its filter lets pass. */
export interface Route {
  readonly agentUid: string;
  readonly bindingName: string;
  readonly policy: string;
  readonly passes: (fact: ChatFact) => boolean;
}

/** The members of an actor event that are compared. */
interface Event {
  readonly type: string;
  readonly data: {
    readonly session: { readonly agentUid: string; readonly bindingName: string };
    readonly channel: { readonly id: string };
    readonly entry?: { readonly sourceEntryId: string; readonly text?: string };
    readonly entries?: readonly { readonly sourceEntryId: string }[];
    readonly inboundBatch?: { readonly sourceEntryIds: readonly string[] };
  };
}

/** Counts of one run. */
export interface Counts {
  facts: number;
  accepted: number;
  timers: number;
  closed: number;
  closedByTimer: number;
  events: number;
  messages: number;
  decisions: number;
}

/** A check that takes the log piece by piece, since all of it at once would not fit into memory. */
export interface Check {
  /** The facts of one partition and what was accepted of them: before anything of the other topics. */
  readonly facts: (normalized: readonly LogRecord[], accepted: readonly LogRecord[]) => void;
  /** A whole partition of `actor-events`. */
  readonly events: (records: readonly LogRecord[]) => void;
  /** A whole partition of `decisions`. */
  readonly decisions: (records: readonly LogRecord[]) => void;
  /** Every difference; what is missing is told here. */
  readonly problems: () => readonly string[];
  readonly counts: Readonly<Counts>;
  /** Records that came again with an equal origin, by topic: readers drop them. */
  readonly repeats: ReadonlyMap<string, number>;
  /** By how much timers came after the time their batches were due, and events, in milliseconds. */
  readonly firedLateMs: readonly number[];
  readonly toldLateMs: readonly number[];
}

const isHandOver = (type: string): boolean => /^(?:im\.message|command)\./.test(type);

/**
 * Compares what a load of chats came to with the batches refolded: each fact has one end on each route, each message that
 * is to be handed over is in one event of it and no other, and what an event holds is in order. Shares no code with the product.
 */
export function createCheck({ mark, routes }: { readonly mark: string; readonly routes: readonly Route[] }): Check {
  const problems: string[] = [];
  const wanted = new Map<string, HandOver[]>();
  const found = new Map<string, number>();
  const differs = new Set<string>();
  const given = new Map<string, number>();
  const ends = new Map<string, readonly string[]>();
  const decided = new Set<string>();
  const told = new Set<string>();
  const dueAt = new Map<string, number>();
  const timerPlaces = new Set<string>();
  const repeats = new Map<string, number>();
  const [firedLateMs, toldLateMs]: [number[], number[]] = [[], []];
  const counts: Counts = {
    ...{ facts: 0, accepted: 0, timers: 0, closed: 0, closedByTimer: 0 },
    ...{ events: 0, messages: 0, decisions: 0 },
  };

  const once = (records: readonly LogRecord[]): readonly LogRecord[] => {
    const firsts = firstAppearances(records);
    const again = records.length - firsts.length;
    const [topic = ''] = records.map((record) => record.topic);
    if (again > 0) repeats.set(topic, (repeats.get(topic) ?? 0) + again);
    return firsts;
  };

  const compareFilter = (normalized: readonly LogRecord[], accepted: readonly LogRecord[]): void => {
    const passed = new Map(accepted.map((record) => [record.from ?? '', (record.value as Accepted).fact]));
    for (const record of normalized) {
      const fact = record.value as ChatFact;
      for (const { agentUid, bindingName, passes } of routes) {
        const from = `${placeOf(record)}/${joined(agentUid, bindingName)}`;
        if (!passes(fact)) ends.set(`${placeOf(record)} ${agentUid}`, ['filtered']);
        else if (!isDeepStrictEqual(passed.get(from), fact)) problems.push(`${from}: not accepted as it is`);
        if (passes(fact)) passed.delete(from);
      }
    }
    for (const from of passed.keys()) problems.push(`${from}: accepted, and should not be`);
  };

  const compareEvent = (record: LogRecord, { type, data }: Event): void => {
    const lane = joined(data.session.agentUid, data.session.bindingName, data.channel.id);
    const number = found.get(lane) ?? 0;
    found.set(lane, number + 1);
    const sourceEntryIds = data.inboundBatch?.sourceEntryIds ?? [data.entry?.sourceEntryId ?? ''];
    for (const id of sourceEntryIds) {
      const name = `${lane} ${id}`;
      given.set(name, (given.get(name) ?? 0) + 1);
      counts.messages++;
      if (given.get(name) === 2) problems.push(`${name}: handed over twice, the second time in ${placeOf(record)}`);
    }
    const shown = data.entries?.map((entry) => entry.sourceEntryId) ?? sourceEntryIds;
    const have = { lane, type, sourceEntryIds, text: data.entry?.text ?? '' };
    const want = wanted.get(lane)?.[number];
    if ((isDeepStrictEqual(have, want) && isDeepStrictEqual(shown, sourceEntryIds)) || differs.has(lane)) return;
    // One that is missing shifts all that come after it.
    differs.add(lane);
    const text = (event: HandOver | undefined) => (event === undefined ? 'nothing' : JSON.stringify(event));
    problems.push(`${lane}, event ${number}: ${text(have)} with ${shown.join()}, the refold says ${text(want)}`);
  };

  return {
    facts(normalized, accepted) {
      const ours = normalized.filter(({ value }) => (value as ChatFact | undefined)?.signalChannelId.includes(mark));
      const passed = once(accepted.filter(({ value }) => channelOf(value as Accepted | undefined)?.includes(mark)));
      const isFact = ({ value }: LogRecord): boolean => (value as Accepted).type === 'fact.accepted';
      const facts = passed.filter(isFact);
      counts.facts += ours.length;
      counts.accepted += facts.length;
      compareFilter(ours, facts);
      const refolded = refoldConversations(withTimes(passed));
      for (const [lane, events] of Map.groupBy(refolded.events, (event) => event.lane)) wanted.set(lane, events);
      for (const [place, allowed] of refolded.ends) ends.set(place, allowed);
      for (const [place, at] of refolded.dueAt) dueAt.set(place, at);
      for (const record of passed) if (!isFact(record)) timerPlaces.add(placeOf(record));
      firedLateMs.push(...refolded.lateMs);
      counts.timers += refolded.timers;
      counts.closed += refolded.closed;
      counts.closedByTimer += refolded.lateMs.length;
      if (refolded.open > 0) problems.push(`${refolded.open} batches have not closed`);
    },

    events(records) {
      const agents = new Set(routes.map(({ agentUid }) => agentUid));
      for (const record of once(records)) {
        const event = record.value as Event | undefined;
        if (event === undefined || !agents.has(event.data.session.agentUid)) continue;
        counts.events++;
        if (isHandOver(event.type)) compareEvent(record, event);
        const due = dueAt.get(causeOf(record));
        if (due !== undefined) toldLateMs.push(record.at - due);
      }
    },

    decisions(records) {
      for (const record of once(records)) {
        const decision = record.value as Decision | undefined;
        const { agentUid = '', bindingName = '', signalChannelId = '', sourceEntryId } = decision?.about ?? {};
        if (decision === undefined || !signalChannelId.includes(mark)) continue;
        counts.decisions++;
        const { status, from = '' } = decision;
        if (status === 'handed_over') {
          const name = `${joined(agentUid, bindingName, signalChannelId)} ${sourceEntryId}`;
          // Told of its removal or edit is what was handed over before.
          if (/^entry_(?:removed|edited)$/.test(decision.reason ?? '')) {
            if (!given.has(name)) problems.push(`${name}: told as changed, and was never handed over`);
            continue;
          }
          if (told.has(name)) problems.push(`${name}: told twice that it was handed over`);
          told.add(name);
          continue;
        }
        // A timer is no fact; where it found nothing to do, it says so.
        if (timerPlaces.has(from) && status === 'ignored') continue;
        const end = ends.has(from) ? from : `${from} ${agentUid}`;
        const allowed = ends.get(end);
        if (decided.has(end)) problems.push(`${end}: a second end, ${status}`);
        decided.add(end);
        if (!allowed?.includes(status)) problems.push(`${end}: ${status}, the refold says ${allowed?.join(' or ')}`);
      }
    },

    problems() {
      const all = [...problems];
      for (const end of ends.keys()) if (!decided.has(end)) all.push(`${end}: no end`);
      for (const [lane, events] of wanted) {
        const lost = events.slice(found.get(lane) ?? 0);
        if (lost.length > 0) all.push(`${lane}: lost ${JSON.stringify(lost)}`);
        for (const { type, sourceEntryIds } of events) {
          if (type.startsWith('command.')) continue;
          for (const id of sourceEntryIds) {
            if (!told.delete(`${lane} ${id}`)) all.push(`${lane} ${id}: no decision says that it was handed over`);
          }
        }
      }
      for (const name of told) all.push(`${name}: told that it was handed over, and was not`);
      return all;
    },
    ...{ counts, repeats, firedLateMs, toldLateMs },
  };
}

const channelOf = (accepted: Accepted | undefined): string | undefined =>
  accepted?.fact?.signalChannelId ?? accepted?.signalChannelId;

/** The record that another one was made from, by its place. */
const causeOf = ({ from = '' }: LogRecord): string => from.split('/', 3).join('/');

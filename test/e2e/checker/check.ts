import { isDeepStrictEqual } from 'node:util';
import {
  type AcceptedFact,
  aboutOf,
  type Decision,
  type Expected,
  type Fact,
  joined,
  type RawFact,
} from './contract.ts';
import { refoldJournal } from './journal.ts';
import { firstAppearances, type Log, type LogRecord, placeOf, readLog, type Wanted, withTimes } from './log.ts';
import { canonical, refoldMirror } from './mirror.ts';
import { type Row, type Rows, readRows } from './rows.ts';

/** The topics of the pipeline, in its order. */
export const pipelineTopics = [
  'raw-provider-facts',
  'normalized-facts',
  'accepted-facts',
  'actor-events',
  'decisions',
  'dead-letters',
] as const;

/** The log and the rows at one moment at which nothing moves. */
export interface Snapshot {
  readonly log: Log;
  readonly rows: Rows;
}

/** Which facts are checked, and what a test knows of them by itself. */
export interface Load {
  /** Part of the id of every channel and event of this load, and of no other. */
  readonly mark: string;
  /** What the body of a raw fact tells: its fact, as far as the test knows it; a text is the reason to ignore it. */
  readonly tells: (raw: RawFact) => Readonly<Partial<Fact>> | string;
  /** In the order of agent and name. */
  readonly routes: readonly {
    readonly agentUid: string;
    readonly bindingName: string;
    readonly passes: (fact: Fact) => boolean;
  }[];
}

/** What was compared, and every difference. */
export interface Checked {
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * Reads everything that the check of one load compares: between two places of the log, where nothing of it lies elsewhere.
 * What others have written is passed over unread.
 */
export async function takeSnapshot(
  at: { readonly kafkaBrokers: string; readonly redisUrl: string },
  mark: string,
  range: Pick<Wanted, 'from' | 'to'> = {},
): Promise<Snapshot> {
  const log = await readLog(at.kafkaBrokers.split(','), pipelineTopics, {
    concerns: (topic, value) => topic === 'dead-letters' || value.includes(mark),
    ...range,
  });
  // The key of a journey is the id of its fact, whoever gave it that.
  const raws = log.get('raw-provider-facts')?.filter(({ value }) => value !== undefined) ?? [];
  const roots = new Set(raws.map(rootOf));
  const concerns = (name: string): boolean => name.includes(mark) || roots.has(keyOf(name));
  const rows = await readRows(at.redisUrl, ['mirror-projector', 'decision-journal'], { concerns });
  return { log, rows };
}

/**
 * Plays the whole pipeline again over what lies in each input topic and compares: every record that should be there is,
 * once if repeats are dropped, in order, and nothing else is; every row is what its topic folds to. Shares no code with
 * the product.
 */
export function checkLoad({ log, rows }: Snapshot, load: Load): Checked {
  const problems: string[] = [];
  const topic = (name: (typeof pipelineTopics)[number]) => withTimes(log.get(name) ?? []);
  const isOurs = (fact: { readonly signalChannelId?: string } | undefined) =>
    fact?.signalChannelId?.includes(load.mark) === true;

  // The contract of each topic says what its values hold.
  const raws = topic('raw-provider-facts').filter(({ value }) => isOurs(value as RawFact | undefined));
  const roots = new Set(raws.map(rootOf));
  const normalized = topic('normalized-facts').filter(({ value }) => isOurs(value as Fact | undefined));
  const accepted = topic('accepted-facts').filter(({ value }) => isOurs((value as AcceptedFact | undefined)?.fact));
  const decided = topic('decisions').filter(({ value }) => roots.has((value as Decision | undefined)?.rootId ?? ''));
  const events = topic('actor-events').filter(({ rootId }) => roots.has(rootId ?? ''));

  for (const record of topic('dead-letters')) {
    const value = record.value as { readonly rootId: string; readonly code: string };
    if (roots.has(value.rootId)) problems.push(`dead letter ${placeOf(record)}: ${value.code} of ${value.rootId}`);
  }
  const repeats = [normalized, accepted, events, decided].map((records) => repeatsOf(records, problems));

  const mirror = refoldMirror(firstAppearances(accepted));
  const expected = [
    ...refoldNormalizer(raws, load, firstAppearances(normalized)),
    ...refoldFilter(firstAppearances(normalized), load),
    ...mirror.made,
  ];
  const actual = [normalized, accepted, events, decided].flatMap(firstAppearances);
  compareRecords(expected, actual, problems);

  const wanted = new Map([...mirror.rows, ...refoldJournal(firstAppearances(decided))]);
  const found = new Map([...rows].filter(([name]) => name.includes(load.mark) || roots.has(keyOf(name))));
  compareRows(wanted, found, problems);

  return {
    problems,
    counts: {
      raw: raws.length,
      normalized: firstAppearances(normalized).length,
      accepted: firstAppearances(accepted).length,
      events: firstAppearances(events).length,
      decisions: firstAppearances(decided).length,
      rows: found.size,
      repeats: repeats.reduce((sum, count) => sum + count, 0),
      ...statuses(firstAppearances(decided)),
    },
  };
}

/** The id of a raw fact: its own, else its place in the log. */
export const rootOf = (raw: LogRecord): string => (raw.value as RawFact).id ?? placeOf(raw);

const keyOf = (rowName: string): string => rowName.slice(rowName.indexOf(':') + 1);

const statuses = (decided: readonly LogRecord[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { value } of decided) {
    const { status } = value as Decision;
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
};

/** Counts repeats; each must be what it repeats, in the same place of the topic. */
function repeatsOf(records: readonly LogRecord[], problems: string[]): number {
  const firsts = new Map<string, LogRecord>();
  let repeats = 0;
  for (const record of records) {
    if (record.from === undefined) {
      problems.push(`${placeOf(record)} says not where it comes from`);
      continue;
    }
    const first = firsts.get(record.from);
    if (first === undefined) {
      firsts.set(record.from, record);
      continue;
    }
    repeats++;
    const same = first.partition === record.partition && first.key === record.key;
    if (!same || !isDeepStrictEqual(first.value, record.value)) {
      problems.push(`${placeOf(record)} repeats ${placeOf(first)} and differs from it`);
    }
  }
  return repeats;
}

/** What the normalizer must have made: of what the test does not know, the record's own word is taken. */
function refoldNormalizer(
  raws: readonly LogRecord[],
  { tells }: Load,
  normalized: readonly LogRecord[],
): readonly Expected[] {
  const bySource = new Map(normalized.map((record) => [sourceOf(record.from), record.value as Fact]));
  return raws.map((record): Expected => {
    const raw = record.value as RawFact;
    const rootId = rootOf(record);
    const told = tells(raw);
    const source = placeOf(record);
    if (typeof told === 'string') {
      const about = {
        connectionId: raw.connectionId,
        ...(raw.eventId !== undefined && { providerEventId: raw.eventId }),
        ...(raw.signalChannelId !== undefined && { signalChannelId: raw.signalChannelId }),
      };
      const value = { rootId, stage: 'normalizer', status: 'ignored_unknown_event', reason: told, at: record.at };
      return { topic: 'decisions', key: rootId, source, value: { ...value, from: source, about } };
    }
    const value = {
      ...bySource.get(source),
      ...told,
      connectionId: raw.connectionId,
      sourceEventId: raw.eventId ?? rootId,
      receivedAt: raw.receivedAt,
    };
    return { topic: 'normalized-facts', key: told.signalChannelId ?? '', source, value };
  });
}

function refoldFilter(normalized: readonly LogRecord[], { routes }: Load): readonly Expected[] {
  return normalized.flatMap((record) =>
    routes.map(({ agentUid, bindingName, passes }): Expected => {
      const fact = record.value as Fact;
      const source = placeOf(record);
      if (passes(fact)) {
        const route = { agentUid, bindingName, adapter: 'github', unaddressedGroupMessagePolicy: 'record_only' };
        return {
          topic: 'accepted-facts',
          key: fact.signalChannelId,
          source: `${source}/${joined(agentUid, bindingName)}`,
          value: { type: 'fact.accepted', route, fact },
        };
      }
      const { rootId = '', at } = record;
      const about = { ...aboutOf(fact), agentUid, bindingName };
      const value = { rootId, stage: 'filter', status: 'filtered', at, from: source, about };
      return { topic: 'decisions', key: rootId, source, value };
    }),
  );
}

/** A record's origin without the effect's name, except where that name is a binding. */
function sourceOf(from: string | undefined, topic?: string): string {
  const [, source = '', effect = ''] = /^([^/]+\/\d+\/\d+)\/(.*)$/s.exec(from ?? '') ?? [];
  return topic === 'accepted-facts' ? `${source}/${effect}` : source;
}

/** A record as it is compared: where it comes from, and what it says. */
interface Item {
  readonly source: string;
  readonly value: unknown;
}

/** Compares lane by lane: what came from one partition to one key of one topic, in order. */
function compareRecords(expected: readonly Expected[], actual: readonly LogRecord[], problems: string[]): void {
  const spell = createSpelling(problems);
  const lanes = new Map<string, { readonly want: Item[]; readonly have: Item[] }>();
  const laneOf = (topic: string, key: string, source: string) => {
    const name = `${source.split('/', 2).join('/')} to ${topic} ${key}`;
    const lane = lanes.get(name) ?? { want: [], have: [] };
    lanes.set(name, lane);
    return lane;
  };
  for (const { topic, key, source, value } of expected) laneOf(topic, key, source).want.push({ source, value });
  for (const { topic, key, from, value } of actual) {
    const source = sourceOf(from, topic);
    laneOf(topic, key, source).have.push({ source, value });
  }
  for (const [name, { want, have }] of lanes) {
    for (let index = 0; index < Math.max(want.length, have.length); index++) {
      const [wanted, found] = [want[index], have[index]];
      const isSame = wanted?.source === found?.source;
      const value = isSame && hasDigests(name) ? spell(found?.value, wanted?.value) : found?.value;
      if (isSame && isDeepStrictEqual(value, wanted?.value)) continue;
      const text = (item: Item | undefined) =>
        item === undefined ? 'nothing' : `${item.source} ${canonical(item.value)}`;
      problems.push(`${name}, number ${index}: ${text(found && { ...found, value })}, the refold says ${text(wanted)}`);
      break;
    }
  }
}

/** Compares rows with what they should be, digests by what they are made from. */
export function compareRows(
  wanted: ReadonlyMap<string, Row>,
  found: ReadonlyMap<string, Row>,
  problems: string[],
): void {
  const spell = createSpelling(problems);
  for (const name of new Set([...wanted.keys(), ...found.keys()])) {
    const want = wanted.get(name);
    const have = hasDigests(name) ? spell(found.get(name), want) : found.get(name);
    if (isDeepStrictEqual(have, want)) continue;
    problems.push(`row ${name}: ${canonical(have)}, the refold says ${canonical(want)}`);
  }
}

/** Whether what lies there holds digests, which are compared by what they are made from. */
const hasDigests = (name: string): boolean => / to actor-events |\/(?:entries|handled-revisions):/.test(name);

/**
 * Puts the text that a digest is made from in the digest's place. How digests are made is the product's own affair: here
 * equal texts must have equal digests, and other texts others.
 */
function createSpelling(problems: string[]): (have: unknown, want: unknown) => unknown {
  const [texts, digests] = [new Map<string, string>(), new Map<string, string>()];
  const spelled = (digest: string, text: string): string => {
    const known = [texts.get(digest) ?? text, digests.get(text) ?? digest];
    if (known[0] !== text || known[1] !== digest)
      problems.push(`digest ${digest} stands for two texts, or beside another`);
    texts.set(digest, text);
    digests.set(text, digest);
    return text;
  };
  const spell = (have: unknown, want: unknown): unknown => {
    if (typeof have !== 'object' || have === null) return have;
    if (Array.isArray(have))
      return have.map((each, index) => spell(each, Array.isArray(want) ? want[index] : undefined));
    const wanted: Readonly<Record<string, unknown>> = { ...(typeof want === 'object' ? want : undefined) };
    return Object.fromEntries(
      Object.entries(have).map(([name, member]) => {
        const text = wanted[name];
        const isDigest = name === 'documentId' || name === 'contentHash';
        if (isDigest && typeof member === 'string' && typeof text === 'string') return [name, spelled(member, text)];
        return [name, spell(member, text)];
      }),
    );
  };
  return spell;
}

import { compareRecords, compareRows, repeatsOf } from './compare.ts';
import { type AcceptedFact, type Decision, type Fact, joined, type RawFact } from './contract.ts';
import { refoldFilter } from './filter.ts';
import { refoldJournal } from './journal.ts';
import { firstAppearances, type Log, type LogRecord, placeOf, readLog, type Wanted, withTimes } from './log.ts';
import { refoldMirror } from './mirror.ts';
import { refoldNormalizer, rootOf, type Tells } from './normalizer.ts';
import { type Rows, readRows, readTimers, type Timers } from './rows.ts';

/** The topics of the pipeline, in its order. */
export const pipelineTopics = [
  'raw-provider-facts',
  'normalized-facts',
  'accepted-facts',
  'actor-events',
  'decisions',
  'dead-letters',
] as const;

/** The log, the rows and the timers at one moment at which nothing moves. */
export interface Snapshot {
  readonly log: Log;
  readonly rows: Rows;
  readonly timers: Timers;
}

/** Which facts are checked, and what a test knows of them by itself. */
export interface Load {
  /** Part of the id of every channel and event of this load, and of no other. */
  readonly mark: string;
  readonly tells: Tells;
  /** In the order of agent and name. */
  readonly routes: readonly {
    readonly agentUid: string;
    readonly bindingName: string;
    readonly passes: (fact: Fact) => boolean;
  }[];
}

/** What the routes of a load have in common. */
const asBound = { adapter: 'github', unaddressedGroupMessagePolicy: 'record_only' };

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
  const read = (topic: string): readonly LogRecord[] =>
    log.get(topic)?.filter(({ value }) => value !== undefined) ?? [];
  const keys = new Set([
    // The key of a journey is the id of its fact, whoever gave it that.
    ...read('raw-provider-facts').map(rootOf),
    // An event that gathers messages has an id of its own.
    ...read('decisions').flatMap(({ value }) => {
      const { actorEventId } = (value as Decision).about;
      return actorEventId === undefined ? [] : [joined('actor-event', actorEventId)];
    }),
  ]);
  const concerns = (name: string): boolean => name.includes(mark) || keys.has(keyOf(name));
  const rows = await readRows(at.redisUrl, ['mirror-projector', 'decision-journal'], { concerns });
  const timers = await readTimers(at.redisUrl, 'mirror-projector', concerns);
  return { log, rows, timers };
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
    ...refoldNormalizer(raws, load.tells, firstAppearances(normalized)),
    ...refoldFilter(
      firstAppearances(normalized),
      load.routes.map(({ passes, ...route }) => ({ passes, route: { ...route, ...asBound } })),
    ),
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

/** The key of a row, whose name is `<stage>/<partition>/<projection>:<key>`. */
const keyOf = (rowName: string): string => rowName.slice(rowName.indexOf(':') + 1);

/** How many decisions there are of each status. */
export const statuses = (decided: readonly LogRecord[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { value } of decided) {
    const { status } = value as Decision;
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
};

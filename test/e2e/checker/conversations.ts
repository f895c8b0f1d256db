import { type Checked, type Snapshot, statuses } from './check.ts';
import { compareRecords, compareRows, repeatsOf } from './compare.ts';
import type { RouteOfFact } from './contract.ts';
import { checkRoute } from './conversation-route.ts';
import { refoldFilter } from './filter.ts';
import { refoldJournal } from './journal.ts';
import { type LogRecord, placeOf } from './log.ts';
import { refoldNormalizer, rootOf, type Tells } from './normalizer.ts';
import { firstTold, recordsOf, sourceOf, type Told, toldOf } from './told.ts';

/** Conversations, and the routes that all of their facts pass. */
export interface Conversations {
  /** Part of the id of every channel of this load, and of no other. */
  readonly mark: string;
  readonly tells: Tells;
  /** In the order of agent and name. */
  readonly routes: readonly RouteOfFact[];
}

/**
 * Checks what must hold of conversations, however they are gathered: shares no code with the product, and knows neither the
 * routing table nor what an event tells beside its messages.
 */
export function checkConversations(snapshot: Snapshot, { mark, tells, routes }: Conversations): Checked {
  const { log, rows, timers } = snapshot;
  const problems: string[] = [];
  const all = toldOf(log, mark);
  const told = firstTold(all);
  const repeats = [all.facts, all.accepted, all.events, all.decided].map((each) =>
    repeatsOf(recordsOf(each), problems),
  );

  const [raws, facts] = [recordsOf(told.raws), recordsOf(told.facts)];
  const roots = new Set(raws.map(rootOf));
  for (const record of log.get('dead-letters') ?? []) {
    // The contract of the topic.
    const { rootId, code } = record.value as { readonly rootId: string; readonly code: string };
    if (roots.has(rootId)) problems.push(`dead letter ${placeOf(record)}: ${code} of ${rootId}`);
  }
  const everything = routes.map((route) => ({ route, passes: () => true }));
  compareRecords(
    [...refoldNormalizer(raws, tells, facts), ...refoldFilter(facts, everything)],
    [...facts, ...recordsOf(told.accepted).filter(isNoTimer)],
    problems,
  );
  const journal = new Map([...rows].filter(([name]) => name.startsWith('decision-journal/')));
  compareRows(refoldJournal(recordsOf(told.decided)), journal, problems);

  checkOrigins(told, problems);
  for (const route of routes) checkRoute(route, told, problems);
  for (const [name, { v }] of rows) {
    if (!name.includes('/open-batches:')) continue;
    // The one form of these rows.
    const { batches } = v as { readonly batches: readonly { readonly dueAt: number }[] };
    for (const { dueAt } of batches) problems.push(`${name}: a batch that was due at ${dueAt} is open still`);
  }
  for (const [name, dueAt] of timers) problems.push(`timer ${name}, due at ${dueAt}, is set still`);
  return { problems, counts: { ...countsOf(all, told), repeats: repeats.reduce((sum, count) => sum + count, 0) } };
}

const isNoTimer = ({ timerId }: LogRecord): boolean => timerId === undefined;

function countsOf(all: Told, told: Told): Checked['counts'] {
  const timers = (of: Told): number => of.accepted.length - recordsOf(of.accepted).filter(isNoTimer).length;
  const due = told.accepted.filter(({ value }) => value.type === 'batch.due');
  const dueAt = new Set(recordsOf(due).map(placeOf));
  const batches = told.events.filter(({ value }) => value.data.inboundBatch !== undefined);
  return {
    raw: told.raws.length,
    normalized: told.facts.length,
    acceptedFacts: told.accepted.length - timers(told),
    events: told.events.length,
    batches: batches.length,
    batchesClosedByTimer: batches.filter(({ record }) => dueAt.has(sourceOf(record))).length,
    batchesWithoutEvent: told.decided.filter(({ value }) => value.reason === 'no_actor_event').length,
    timersFired: timers(told),
    timersRepeated: timers(all) - timers(told),
    ...statuses(recordsOf(told.decided)),
  };
}

/** What came again must have had no effect: a timer that fired twice, a fact that was sent twice. */
function checkOrigins({ facts, accepted, events, decided }: Told, problems: string[]): void {
  const sources = new Set([...facts, ...accepted].map(({ record }) => placeOf(record)));
  for (const { record } of [...events, ...decided]) {
    if (!sources.has(sourceOf(record))) problems.push(`${placeOf(record)} comes from ${sourceOf(record)}, a repeat`);
  }
}

import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { decisions } from '../../schemas/decision.ts';
import { stage } from '../../services/mirror-projector/stage.ts';
import { effectId } from '../../shared/runtime/header.ts';
import { type FoldMessage, fold, type Left } from '../../shared/testing/fold.ts';
import type { Snapshot } from '../e2e/checker/check.ts';
import { compareRecords, compareRows } from '../e2e/checker/compare.ts';
import type { Expected } from '../e2e/checker/contract.ts';
import { type LogRecord, placeOf } from '../e2e/checker/log.ts';
import type { Row } from '../e2e/checker/rows.ts';
import { firstTold, recordsOf, toldOf } from '../e2e/checker/told.ts';

/**
 * Folds what lies on accepted facts of conversations once more, in the plainest way, by the product's own `decide`; compares
 * every event, decision and row, and what is left of timers. So it knows the whole routing table, and finds what the shell
 * does wrong with it: what `decide` itself does wrong, it cannot find.
 */
export function refoldConversations({ log, rows, timers }: Snapshot, mark: string): readonly string[] {
  const problems: string[] = [];
  const { accepted, events, decided } = firstTold(toldOf(log, mark));
  const made: Expected[] = [];
  const wantedRows = new Map<string, Row>();
  const wantedTimers = new Map<string, number>();
  const endedAt = new Map<string, number>();

  for (const [partition, records] of Map.groupBy(recordsOf(accepted), (record) => record.partition)) {
    const byPlace = new Map(records.map((record) => [placeOf(record), record]));
    const folded = fold(stage, records.map(messageOf), { timers: 'given' });
    for (const { message, effect } of folded.left) {
      const record = byPlace.get(message);
      if (record !== undefined) made.push(recordOf(record, effect));
    }
    const slot = `mirror-projector/${partition}`;
    endedAt.set(slot, records.at(-1)?.at ?? 0);
    for (const [name, v] of folded.rows) {
      const x = folded.expiries.get(name);
      wantedRows.set(`${slot}/${name}`, x === undefined ? { v } : { v, x });
    }
    for (const [key, dueAt] of folded.timers) wantedTimers.set(`${slot}/${key}`, dueAt);
  }

  const actual = [...events, ...decided].flatMap(({ record }) =>
    record.from?.startsWith(`${acceptedFacts.name}/`) ? [record] : [],
  );
  compareRecords(made, actual, problems);
  // Redis keeps a row for a while after its end.
  const isAlive = (name: string, { x = Number.POSITIVE_INFINITY }: Row): boolean =>
    x > (endedAt.get(name.split('/', 2).join('/')) ?? 0);
  const found = [...rows].filter(
    ([name, row]) => name.startsWith('mirror-projector/') && name.includes(mark) && isAlive(name, row),
  );
  compareRows(wantedRows, new Map(found), problems);
  for (const name of new Set([...wantedTimers.keys(), ...timers.keys()])) {
    const [want, have] = [wantedTimers.get(name), timers.get(name)];
    if (want !== have) problems.push(`timer ${name}: due at ${have}, the fold says ${want}`);
  }
  return problems;
}

function messageOf(record: LogRecord): FoldMessage<AcceptedFact> {
  const { from, timerId, causeId = '', rootId = '', at } = record;
  const effect = from?.split('/').slice(3).join('/') ?? '';
  return {
    id: placeOf(record),
    messageId: timerId ?? effectId(causeId, effect),
    value: acceptedFacts.value.parse(record.value),
    at,
    rootId,
    isTimer: timerId !== undefined,
  };
}

/** The record that an effect becomes. */
function recordOf(record: LogRecord, effect: Left['effect']): Expected {
  const source = placeOf(record);
  switch (effect.do) {
    case 'emit':
      return { topic: effect.topic.name, key: effect.topic.key(effect.value), source, value: plain(effect.value) };
    case 'outcome': {
      const { rootId = record.rootId ?? '', status, reason } = effect;
      const about = { ...acceptedFacts.about?.(acceptedFacts.value.parse(record.value)), ...effect.about };
      const value = { rootId, stage: stage.name, status, reason, at: record.at, from: source, about };
      return { topic: decisions.name, key: rootId, source, value: plain(value) };
    }
    case 'reject':
      return { topic: 'dead-letters', key: record.key, source, value: effect.code };
  }
}

/** As it looks in JSON. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

import { expect, test } from 'vitest';
import { counter, defineMetrics } from '../metrics.ts';
import { reject } from '../stage/effects.ts';
import type { AnyStage } from '../stage/stage.ts';
import { type Ask, counting } from '../testing/counting-stage.ts';
import type { FoldedRecord } from './fold.ts';
import { createMetrics, shellMetrics } from './metrics-registry.ts';
import type { StageHealth } from './run-stage.ts';

const base: AnyStage = counting;
const stage: AnyStage = {
  ...base,
  metrics: defineMetrics<Ask>({
    asks_total: counter('Asks, by type and number of effects.', ({ message, effects }) =>
      message.value.type === 'calm' ? undefined : { type: message.value.type, effects: String(effects.length) },
    ),
    quotes_total: counter('Labels that need care.', () => ({ text: 'a "quoted" \\ one' })),
  }),
};

const readable = (value: Ask, silent = false) => ({
  type: 'decided' as const,
  message: { id: '1', rootId: '1', at: 0, key: value.key, value },
  effects: [],
  silent,
});
const decided: (value: Ask, silent?: boolean) => FoldedRecord = readable;
const rejected = (silent: boolean): FoldedRecord => ({
  type: 'rejected',
  code: 'frame-invalid',
  id: '1',
  offset: 1n,
  silent,
  ours: false,
});
const now = 1_929_952_800_000;
const count: Ask = { type: 'count', key: 'a', emit: 0 };

/** The lines of the metrics that are ours, without those that say what they are. */
const linesOf = (text: string, pattern: RegExp) => text.split('\n').filter((line) => pattern.test(line));

test('each metric of the shell is there from the start, with its meaning', async () => {
  const text = await createMetrics([], () => now).text();
  for (const [name, { help }] of Object.entries(shellMetrics)) expect(text).toContain(`# HELP ${name} ${help}\n`);
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);
});

test('records are counted by what was done with them, and folded again they count as nothing else', async () => {
  const metrics = createMetrics([stage], () => now);
  metrics.observer.folded(stage, [decided(count), decided(count), { type: 'repeat' }, rejected(false)]);
  metrics.observer.folded(stage, [decided(count, true), rejected(true), { type: 'unknown-type' }]);
  const text = await metrics.text();
  expect(linesOf(text, /^signalbox_(records|dead_letters)_total/).toSorted()).toEqual([
    'signalbox_dead_letters_total{stage="counting",code="frame-invalid"} 1',
    'signalbox_records_total{stage="counting",result="decided"} 2',
    'signalbox_records_total{stage="counting",result="refolded"} 2',
    'signalbox_records_total{stage="counting",result="rejected"} 1',
    'signalbox_records_total{stage="counting",result="repeat"} 1',
    'signalbox_records_total{stage="counting",result="unknown-type"} 1',
  ]);
  expect(linesOf(text, /^asks_total/)).toEqual(['asks_total{type="count",effects="0"} 2']);
});

test('a record that was rejected as a whole is counted once, though it could be read', async () => {
  const metrics = createMetrics([stage], () => now);
  const effects = [reject('payload-invalid')];
  for (const silent of [false, true]) {
    metrics.observer.folded(stage, [rejected(silent), { ...readable(count, silent), effects }]);
  }
  expect(linesOf(await metrics.text(), /^signalbox_records_total/).toSorted()).toEqual([
    'signalbox_records_total{stage="counting",result="refolded"} 1',
    'signalbox_records_total{stage="counting",result="rejected"} 1',
  ]);
});

test('a stage counts what it declares, under its own labels, and nothing where it names none', async () => {
  const metrics = createMetrics([stage], () => now);
  metrics.observer.folded(stage, [
    decided(count),
    decided({ type: 'calm', key: 'a' }),
    decided({ type: 'forget', key: 'a' }),
  ]);
  const text = await metrics.text();
  expect(linesOf(text, /asks_total|quotes_total/)).toEqual([
    '# HELP asks_total Asks, by type and number of effects.',
    '# TYPE asks_total counter',
    'asks_total{type="count",effects="0"} 1',
    'asks_total{type="forget",effects="0"} 1',
    '# HELP quotes_total Labels that need care.',
    '# TYPE quotes_total counter',
    'quotes_total{text="a \\"quoted\\" \\\\ one"} 3',
  ]);
});

test('batches tell their size, their time and how long their oldest record took', async () => {
  const metrics = createMetrics([stage], () => now);
  const record = { key: null, value: null, header: undefined, traceparent: undefined };
  const [first, second] = [
    { ...record, offset: 10n, at: now - 3_000 },
    { ...record, offset: 11n, at: now - 1 },
  ];
  metrics.observer.batch(stage, 3, { records: [first, second], next: 12n, end: 17n }, 1_500);
  metrics.observer.batch(stage, 3, { records: [], next: 15n, end: 17n }, 500);
  metrics.observer.reopened(stage, 3);
  metrics.webhook('github', 'published');
  const text = await metrics.text();
  expect(linesOf(text, /^signalbox_(state|webhooks|(batch|hop)_\w+_(sum|count))/).toSorted()).toEqual([
    'signalbox_batch_records_count{stage="counting"} 2',
    'signalbox_batch_records_sum{stage="counting"} 2',
    'signalbox_batch_seconds_count{stage="counting"} 2',
    'signalbox_batch_seconds_sum{stage="counting"} 2',
    'signalbox_hop_seconds_count{stage="counting"} 1',
    'signalbox_hop_seconds_sum{stage="counting"} 3',
    'signalbox_state_reopened_total{stage="counting"} 1',
    'signalbox_webhooks_total{provider="github",outcome="published"} 1',
  ]);
});

test('a fact tells how long it took from the edge on, once a batch, where its id has a time', async () => {
  const metrics = createMetrics([stage], () => now);
  const of = (rootId: string, silent = false): FoldedRecord => ({
    type: 'decided',
    message: { id: '1', rootId, at: 0, key: 'a', value: count },
    effects: [],
    silent,
  });
  const idAt = (at: number) => {
    const hex = at.toString(16).padStart(12, '0');
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`;
  };
  metrics.observer.folded(stage, [
    of(idAt(now - 99_000), true),
    { type: 'repeat' },
    of(idAt(now - 2_000)),
    of(idAt(0)),
  ]);
  metrics.observer.folded(stage, [of('raw-provider-facts/3/17')]);
  metrics.observer.folded(stage, [of(idAt(now + 500))]);
  expect(linesOf(await metrics.text(), /^signalbox_fact_seconds_(sum|count)/)).toEqual([
    'signalbox_fact_seconds_sum{stage="counting"} 2',
    'signalbox_fact_seconds_count{stage="counting"} 2',
  ]);
});

test('spans are counted by what became of them', async () => {
  const metrics = createMetrics([stage], () => now);
  metrics.spans('exported', 512);
  metrics.spans('dropped', 3);
  metrics.spans('dropped', 4);
  expect(linesOf(await metrics.text(), /^signalbox_spans_total/)).toEqual([
    'signalbox_spans_total{result="exported"} 512',
    'signalbox_spans_total{result="dropped"} 7',
  ]);
});

test('services are looked at when somebody asks, and a lost partition has no line any more', async () => {
  const metrics = createMetrics([stage], () => now);
  const health: StageHealth = {
    stage: 'counting',
    ready: true,
    heartbeatAt: now - 2_000,
    partitions: [3, 4],
    lags: [
      { partition: 3, records: 7n, since: now - 9_000 },
      { partition: 4, records: 0n, since: undefined },
    ],
    tableRows: new Map(),
    failedCommits: 2,
    truncatedStates: 3,
    rejectsInARow: 4,
    breakerOpen: false,
    stuckSince: now - 9_000,
  };
  let present = health;
  metrics.watch({ name: 'counting', health: () => present, tableRows: () => new Map([['rules', 5]]), unsent: () => 6 });
  metrics.watch({ name: 'ingress', tableRows: () => new Map(), unsent: () => 0 });
  const watched =
    /^signalbox_(lag_\w+|stage_\w+|heartbeat_seconds|commits_failed_total|states_truncated_total|rejects_in_a_row|breaker_open|table_rows|sender_records)\{/;
  expect(linesOf(await metrics.text(), watched).toSorted()).toEqual([
    'signalbox_breaker_open{stage="counting"} 0',
    'signalbox_commits_failed_total{stage="counting"} 2',
    'signalbox_heartbeat_seconds{stage="counting"} 2',
    'signalbox_lag_records{stage="counting",partition="3"} 7',
    'signalbox_lag_records{stage="counting",partition="4"} 0',
    'signalbox_lag_seconds{stage="counting",partition="3"} 9',
    'signalbox_lag_seconds{stage="counting",partition="4"} 0',
    'signalbox_rejects_in_a_row{stage="counting"} 4',
    'signalbox_sender_records{stage="counting"} 6',
    'signalbox_sender_records{stage="ingress"} 0',
    'signalbox_stage_partitions{stage="counting"} 2',
    'signalbox_stage_ready{stage="counting"} 1',
    'signalbox_stage_stuck_seconds{stage="counting"} 9',
    'signalbox_states_truncated_total{stage="counting"} 3',
    'signalbox_table_rows{stage="counting",table="rules"} 5',
  ]);
  present = { ...health, ready: false, partitions: [], lags: [], stuckSince: undefined, breakerOpen: true };
  const left = /^signalbox_(lag_\w+|stage_\w+|breaker_open|commits_failed_total)\{/;
  expect(linesOf(await metrics.text(), left).toSorted()).toEqual([
    'signalbox_breaker_open{stage="counting"} 1',
    'signalbox_commits_failed_total{stage="counting"} 2',
    'signalbox_stage_partitions{stage="counting"} 0',
    'signalbox_stage_ready{stage="counting"} 0',
    'signalbox_stage_stuck_seconds{stage="counting"} 0',
  ]);
});

test('each line can be read by a scraper: a name, labels in quotes and a number, each name declared once', async () => {
  const metrics = createMetrics([stage], () => now);
  metrics.observer.folded(stage, [decided(count)]);
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '');
  const sample =
    /^[a-zA-Z_:][\w:]*(\{[a-zA-Z_]\w*="(\\.|[^"\\])*"(,[a-zA-Z_]\w*="(\\.|[^"\\])*")*\})? (-?[\d.e+-]+|NaN|Nan|\+Inf)$/;
  expect(lines.filter((line) => !line.startsWith('# ') && !sample.test(line))).toEqual([]);
  const names = lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
  expect(new Set(names).size).toBe(names.length);
});

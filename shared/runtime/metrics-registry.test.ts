import { expect, test } from 'vitest';
import { counter, defineMetrics } from '../metrics.ts';
import type { AnyStage } from '../stage/stage.ts';
import { type Ask, counting } from '../testing/counting-stage.ts';
import type { FoldedRecord } from './fold.ts';
import { createMetrics, shellMetrics } from './metrics-registry.ts';

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

const decided = (value: Ask, silent = false): FoldedRecord => ({
  type: 'decided',
  message: { id: '1', rootId: '1', at: 0, key: value.key, value },
  effects: [],
  silent,
});
const rejected = (silent: boolean): FoldedRecord => ({
  type: 'rejected',
  code: 'frame-invalid',
  id: '1',
  offset: 1n,
  silent,
});
const count: Ask = { type: 'count', key: 'a', emit: 0 };

/** The lines of the metrics that are ours, without those that say what they are. */
const linesOf = (text: string, pattern: RegExp) => text.split('\n').filter((line) => pattern.test(line));

test('each metric of the shell is there from the start, with its meaning', async () => {
  const text = await createMetrics([]).text();
  for (const [name, { help }] of Object.entries(shellMetrics)) expect(text).toContain(`# HELP ${name} ${help}\n`);
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);
});

test('records are counted by what was done with them, and folded again they count as nothing else', async () => {
  const metrics = createMetrics([stage]);
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

test('a stage counts what it declares, under its own labels, and nothing where it names none', async () => {
  const metrics = createMetrics([stage]);
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

test('batches tell their size, their time and what is left', async () => {
  const metrics = createMetrics([stage]);
  const batch = { records: [], next: 10n, end: 17n };
  metrics.observer.batch(stage, 3, batch, 1_500);
  metrics.observer.batch(stage, 3, { ...batch, next: 15n }, 500);
  metrics.observer.reopened(stage, 3);
  metrics.webhook('github', 'published');
  const text = await metrics.text();
  expect(linesOf(text, /^signalbox_(lag|state|webhooks|batch_\w+_(sum|count))/).toSorted()).toEqual([
    'signalbox_batch_records_count{stage="counting"} 2',
    'signalbox_batch_records_sum{stage="counting"} 0',
    'signalbox_batch_seconds_count{stage="counting"} 2',
    'signalbox_batch_seconds_sum{stage="counting"} 2',
    'signalbox_lag_records{stage="counting",partition="3"} 2',
    'signalbox_state_reopened_total{stage="counting"} 1',
    'signalbox_webhooks_total{provider="github",outcome="published"} 1',
  ]);
});

test('each line can be read by a scraper: a name, labels in quotes and a number, each name declared once', async () => {
  const metrics = createMetrics([stage]);
  metrics.observer.folded(stage, [decided(count)]);
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '');
  const sample =
    /^[a-zA-Z_:][\w:]*(\{[a-zA-Z_]\w*="(\\.|[^"\\])*"(,[a-zA-Z_]\w*="(\\.|[^"\\])*")*\})? (-?[\d.e+-]+|NaN|Nan|\+Inf)$/;
  expect(lines.filter((line) => !line.startsWith('# ') && !sample.test(line))).toEqual([]);
  const names = lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
  expect(new Set(names).size).toBe(names.length);
});

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineProjection, defineTopic } from '../../schemas/define.ts';
import { defineConfig } from '../config.ts';
import { defineStage, emit, outcome, put, reject, remove } from '../stage/index.ts';
import { fold } from './fold.ts';
import { spec } from './spec.ts';

const Step = z.object({ lane: z.string(), do: z.enum(['add', 'clear', 'refuse', 'half', 'steal', 'lie']) });
type Step = z.infer<typeof Step>;

const topicOf = <V>(name: string, value: z.ZodType<V>, key: (value: V) => string, example: V) =>
  defineTopic<V>({ name, summary: name, value, key, keep: 'forever', example });
const steps = topicOf<Step>('steps', Step, ({ lane }) => lane, { lane: 'a', do: 'add' });
const totals = topicOf('totals', z.object({ total: z.int() }), () => 'all', { total: 1 });
const names = topicOf('names', z.object({ lane: z.string(), name: z.string() }), ({ lane }) => lane, {
  lane: 'a',
  name: 'Ada',
});
const counts = defineProjection({
  name: 'counts',
  stage: 'counter',
  summary: 'Counts.',
  value: z.object({ count: z.int() }),
  place: (lane: string) => ({ key: lane, owner: lane }),
});

const counter = defineStage({
  name: 'counter',
  summary: 'Counts.',
  input: steps,
  outputs: [totals],
  tables: { names },
  config: defineConfig('COUNTER', { lifeMs: z.coerce.number().int().default(100) }),
  reads: ({ lane }) => ({ count: counts.at(lane) }),
  decide(view, { value, at }, { lifeMs }) {
    const place = counts.at(value.lane);
    const count = (view.count?.count ?? 0) + 1;
    const kept = put(place, { count }, at + lifeMs);
    switch (value.do) {
      case 'add':
        return [
          kept,
          emit(totals, { total: count }),
          outcome('recorded', { reason: view.names.get(value.lane)?.name ?? '-' }),
        ];
      case 'clear':
        return [remove(place), outcome('accepted')];
      case 'refuse':
        return [kept, reject('stage-fault')];
      case 'half':
        return [kept, reject('stage-fault', {}, { part: 'half' })];
      case 'steal':
        return [put(counts.at('another lane'), { count })];
      case 'lie':
        return [emit(totals, { total: 0.5 })];
    }
  },
});

const messages = (...given: readonly (readonly [string, Step['do'], number])[]) =>
  given.map(([lane, what, at], number) => ({ id: `m${number}`, value: Step.parse({ lane, do: what }), at }));

describe('a fold', () => {
  test('shows each message what those before it left, and gives the rows that are alive at the end', () => {
    const history = messages(['a', 'add', 1], ['b', 'add', 2], ['a', 'add', 50], ['b', 'clear', 51], ['a', 'add', 60]);
    const whole = fold(counter, history, { tables: { names: [names.example] } });
    expect([...whole.rows]).toStrictEqual([['counts:a', { count: 3 }]]);
    expect([...whole.expiries]).toStrictEqual([['counts:a', 160]]);
    expect(whole.left.map(({ message, effect }) => [message, effect.do])).toStrictEqual([
      ['m0', 'emit'],
      ['m0', 'outcome'],
      ['m1', 'emit'],
      ['m1', 'outcome'],
      ['m2', 'emit'],
      ['m2', 'outcome'],
      ['m3', 'outcome'],
      ['m4', 'emit'],
      ['m4', 'outcome'],
    ]);
    expect(whole.left[1]?.effect).toStrictEqual(outcome('recorded', { reason: 'Ada' }));
    expect(fold(counter, history, { tables: { names: [names.example] }, splits: [1, 2] })).toStrictEqual(whole);
  });

  test('reads a row as absent from the instant at which it expires', () => {
    for (const splits of [[1], [10]]) {
      const total = (at: number) =>
        fold(counter, messages(['a', 'add', 0], ['a', 'add', at]), { splits }).rows.get('counts:a');
      expect([total(99), total(100)]).toStrictEqual([{ count: 2 }, { count: 1 }]);
    }
  });

  test('raises an instant that lies before that of the message before', () => {
    const { rows } = fold(counter, messages(['a', 'add', 0], ['b', 'add', 200], ['a', 'add', 50]));
    expect(rows.get('counts:a')).toStrictEqual({ count: 1 });
  });

  test('lets nothing of a rejected message happen, and all but the part of one that is rejected in part', () => {
    const { rows, left } = fold(counter, messages(['a', 'refuse', 1], ['b', 'half', 1]));
    expect([...rows]).toStrictEqual([['counts:b', { count: 1 }]]);
    expect(left.map(({ effect }) => effect)).toStrictEqual([
      reject('stage-fault'),
      reject('stage-fault', {}, { part: 'half' }),
    ]);
  });

  test('throws where a row belongs to another key, or a value does not fit its contract', () => {
    expect(() => fold(counter, messages(['a', 'steal', 1]))).toThrow('is owned by another lane, not by a');
    expect(() => fold(counter, messages(['a', 'lie', 1]))).toThrow(z.ZodError);
  });
});

describe('a spec', () => {
  const { given } = spec(counter);

  test('holds only for exactly these effects in this order', () => {
    const when = () => given({ count: { count: 4 } }).when({ lane: 'a', do: 'clear' });
    when().then(remove(counts.at('a')), outcome('accepted'));
    expect(() => when().then(outcome('accepted'), remove(counts.at('a')))).toThrow();
    expect(() => when().then(remove(counts.at('a')))).toThrow();
    expect(() => when().then(remove(counts.at('b')), outcome('accepted'))).toThrow();
  });

  test('gives settings, time and tables', () => {
    given({ names: [names.example] })
      .when({ lane: 'a', do: 'add' }, { at: 7, settings: { lifeMs: 3 } })
      .then(put(counts.at('a'), { count: 1 }, 10), emit(totals, { total: 1 }), outcome('recorded', { reason: 'Ada' }));
  });
});

import { expect, test } from 'vitest';
import { BusError } from '../../shared/errors.ts';
import { exitCodeOf, failureText, failureValue, UsageError } from './failure.ts';
import { plain } from './style.ts';

const failure = new BusError('connection-in-use', { bindings: ['iris/desk', 'iris/alerts'] }, new Error('because'));

test('a failure tells its code, meaning, details, cause and what to do next', () => {
  expect(failureText(failure, plain)).toBe(
    [
      'connection-in-use  Bindings still use this connection.',
      '  bindings  iris/desk',
      '            iris/alerts',
      '  cause     because',
      '→ Delete the named bindings first.',
    ].join('\n'),
  );
});

test('a failure as data has the same', () => {
  expect(failureValue(failure)).toEqual({
    error: {
      code: 'connection-in-use',
      meaning: 'Bindings still use this connection.',
      details: { bindings: ['iris/desk', 'iris/alerts'] },
      fix: 'Delete the named bindings first.',
      cause: 'because',
    },
  });
});

test('what was typed wrong ends with 2, everything else with 1', () => {
  expect([new UsageError('x'), new BusError('input-invalid'), failure, new Error('x')].map(exitCodeOf)).toEqual([
    2, 2, 1, 1,
  ]);
});

test('a fault of ours shows its stack', () => {
  expect(failureText(new RangeError('odd'), plain)).toMatch(/^A fault of ours:\nRangeError: odd\n\s+at /);
});

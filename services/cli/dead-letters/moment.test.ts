import { expect, test } from 'vitest';
import { parseMoment } from './moment.ts';

const now = Date.parse('2026-12-01T08:30:00Z');

test('a span counts back from now, a date is UTC with or without saying so', () => {
  const read = (text: string) => {
    const at = parseMoment(text, now);
    return at === undefined ? undefined : new Date(at).toISOString();
  };
  expect(['2h', '90s', '2026-11-30', '2026-11-30 07:15', '2026-11-30T07:15:01.5Z'].map(read)).toEqual([
    '2026-12-01T06:30:00.000Z',
    '2026-12-01T08:28:30.000Z',
    '2026-11-30T00:00:00.000Z',
    '2026-11-30T07:15:00.000Z',
    '2026-11-30T07:15:01.500Z',
  ]);
  expect(['', 'yesterday', '2026-13-01', '2026-11-30T25:00', '2026-11-30T07:15+01:00'].map(read)).toEqual(
    Array.from({ length: 5 }, () => undefined),
  );
});

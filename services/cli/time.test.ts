import { expect, test } from 'vitest';
import { ago, exactSpan, instant, parseSpan, span } from './time.ts';

test('an instant is told by the largest unit that fits', () => {
  expect([0, 9_999, 10_000, 61_000, 7_200_000, 172_800_000].map((ms) => ago(1e12 - ms, 1e12))).toEqual([
    'just now',
    'just now',
    '10 s ago',
    '1 min ago',
    '2 h ago',
    '2 d ago',
  ]);
  expect(ago(1e12 + 1, 1e12)).toBe('in the future');
});

test('spans are short', () => {
  expect([0, 12, 1_250, 200_000, 3_720_000, -5].map(span)).toEqual([
    '+0 ms',
    '+12 ms',
    '+1.250 s',
    '+200.000 s',
    '+1 h 2 min',
    '-5 ms',
  ]);
});

test('spans are read in every unit', () => {
  expect(['90s', '15m', '2 h', '2h', '1d', '250ms', 'soon', ''].map(parseSpan)).toEqual([
    90_000,
    900_000,
    undefined,
    7_200_000,
    86_400_000,
    250,
    undefined,
    undefined,
  ]);
});

test('a span is told in the largest unit that tells it whole, and read back', () => {
  const all = [0, 250, 1_000, 1_500, 60_000, 90_000, 3_600_000];
  expect(all.map(exactSpan)).toEqual(['0ms', '250ms', '1s', '1500ms', '1m', '90s', '1h']);
  expect(all.map(exactSpan).map(parseSpan)).toEqual(all);
});

test('instants are UTC', () => {
  expect(instant(0)).toBe('1970-01-01 00:00:00.000Z');
});

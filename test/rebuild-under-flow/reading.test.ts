import { expect, test } from 'vitest';
import { judge } from './reading.ts';

test('a reader finds a gap and a step back, and nothing else wrong', () => {
  expect(judge('row', undefined, undefined)).toBeUndefined();
  expect(judge('row', undefined, 5)).toBeUndefined();
  expect(judge('row', 5, 5)).toBeUndefined();
  expect(judge('row', 5, 6)).toBeUndefined();
  expect(judge('row', 5, undefined)).toBe('row was there and is gone');
  expect(judge('row', 5, 4)).toBe('row went back from 5 to 4');
});

import { expect, test } from 'vitest';
import { createRateLimit } from './rate-limit.ts';

test('a burst passes, then as many as the minute has', () => {
  const limit = createRateLimit({ perMinute: 60, burst: 3 });
  const take = (now: number) => limit.take('a', now);
  expect([take(0), take(0), take(0)].every(({ ok }) => ok)).toBe(true);
  expect(take(0)).toEqual({ ok: false, waitMs: 1_000 });
  expect(take(999)).toEqual({ ok: false, waitMs: 1 });
  expect(take(1_000)).toEqual({ ok: true });
  expect(limit.take('b', 1_000)).toEqual({ ok: true });
});

test('a clock that goes back gives nothing away', () => {
  const limit = createRateLimit({ perMinute: 60, burst: 1 });
  expect(limit.take('a', 10_000)).toEqual({ ok: true });
  expect(limit.take('a', 0)).toEqual({ ok: false, waitMs: 1_000 });
});

test('those who have not come for a while are forgotten', () => {
  const limit = createRateLimit({ perMinute: 60, burst: 1 });
  for (let holder = 0; holder < 10_000; holder++) limit.take(`h${holder}`, holder * 100);
  expect(limit.size()).toBeLessThanOrEqual(1_000);
});

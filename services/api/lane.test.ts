import { expect, test } from 'vitest';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createLane } from './lane.ts';

const laneOf = (bounds: { readonly atOnce: number; readonly maxWaiting: number; readonly timeoutMs: number }) => {
  const late: unknown[] = [];
  return { late, lane: createLane({ ...bounds, clock: systemClock, onLateFailure: (error) => late.push(error) }) };
};

test('work goes on in its order, so much at once', async () => {
  const { lane } = laneOf({ atOnce: 2, maxWaiting: 10, timeoutMs: 1_000 });
  const begun: number[] = [];
  const ends = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const all = ends.map(({ promise }, index) =>
    lane.run(async () => {
      begun.push(index);
      await promise;
      return index;
    }),
  );
  await systemClock.sleep(1);
  expect(begun).toEqual([0, 1]);
  ends[1]?.resolve();
  await all[1];
  await systemClock.sleep(1);
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  expect(await Promise.all(all)).toEqual([0, 1, 2]);
});

test('what fails gives its place on', async () => {
  const { lane, late } = laneOf({ atOnce: 1, maxWaiting: 10, timeoutMs: 1_000 });
  const failing = lane.run(() => Promise.reject(new RangeError('no')));
  const next = lane.run(async () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
  expect(late).toEqual([]);
});

test('whose time is over before its turn is never begun; what fails after its time is heard of', async () => {
  const { lane, late } = laneOf({ atOnce: 1, maxWaiting: 10, timeoutMs: 10 });
  const { promise, reject } = Promise.withResolvers<void>();
  const begun: string[] = [];
  const slow = lane.run(() => {
    begun.push('slow');
    return promise;
  });
  const behind = lane.run(async () => begun.push('behind'));
  await expect(slow).rejects.toMatchObject({ code: 'infrastructure-unavailable' });
  await expect(behind).rejects.toMatchObject({ code: 'infrastructure-unavailable' });
  const cause = new RangeError('late');
  reject(cause);
  expect(await lane.run(async () => 'next')).toBe('next');
  expect(begun).toEqual(['slow']);
  expect(late).toContain(cause);
});

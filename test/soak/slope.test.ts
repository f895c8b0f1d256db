import { describe, expect, test } from 'vitest';
import { createRandom } from '../e2e/load.ts';
import { floorsOf, growsBeyond, type Point, ratesOf, slopeOf } from './slope.ts';

const minute = 60_000;
const pointsOf = (count: number, valueAt: (index: number) => number): readonly Point[] =>
  Array.from({ length: count }, (_, index) => ({ atMs: index * minute, value: valueAt(index) }));

/** Noise of which each value keeps a share of the one before, as memory does. */
function createNoise(seed: number, kept: number): () => number {
  const random = createRandom(seed);
  const uniform = (): number => random(1_000_001) / 1_000_000;
  let last = 0;
  return () => {
    const normal = Math.sqrt(-2 * Math.log(uniform() || 0.5)) * Math.cos(2 * Math.PI * uniform());
    last = kept * last + normal;
    return last;
  };
}

describe('the slope', () => {
  test('of a straight line is exact, in units per hour, at any distance of the points', () => {
    const line = [0, 1, 5, 30].map((at) => ({ atMs: at * minute, value: 100 + 2 * at }));
    expect(slopeOf(line)).toEqual({
      perHour: expect.closeTo(120),
      error: expect.closeTo(0),
      level: expect.closeTo(118),
      peak: 160,
    });
  });

  test('of four points is that of the textbook', () => {
    // By hand: the mean of x is 1.5, Sxx 5, Sxy 4, residuals 0.2, -0.6, 0.6, -0.2, their squares 0.8; none hangs together.
    const slope = slopeOf([1, 1, 3, 3].map((value, index) => ({ atMs: index * minute, value })));
    expect(slope?.perHour).toBeCloseTo(0.8 * 60);
    expect(slope?.error).toBeCloseTo(Math.sqrt(0.8 / 2 / 5) * 60);
  });

  test('of three points or of none is not to be trusted', () => {
    expect(slopeOf(pointsOf(2, (index) => index))).toBeUndefined();
    expect(slopeOf(pointsOf(3, (index) => index))?.error).toBe(Number.POSITIVE_INFINITY);
  });

  test.each([0, 0.8])('of noise that keeps %d of itself is seldom beyond twice its error', (kept) => {
    const runs = Array.from({ length: 400 }, (_, seed) => {
      const noise = createNoise(seed + 1, kept);
      return slopeOf(pointsOf(100, () => 1_000 + noise()));
    });
    const wrong = runs.filter((slope) => slope !== undefined && growsBeyond(slope, { percent: 0, least: 0 }));
    // A fortieth of all by the normal distribution; correlated noise hides a little of its correlation.
    expect(wrong.length / runs.length).toBeLessThan(0.08);
  });

  test('of a leak in such noise is found', () => {
    const noise = createNoise(3, 0.8);
    const slope = slopeOf(pointsOf(100, (index) => 1_000 + index * 3 + noise()));
    expect(slope?.perHour).toBeGreaterThan(170);
    const isBeyond = (percent: number, least: number) => slope !== undefined && growsBeyond(slope, { percent, least });
    expect([isBeyond(10, 1), isBeyond(20, 1), isBeyond(10, 200)]).toEqual([true, false, false]);
  });
});

test('the floor of a saw is its least value in each whole window', () => {
  const saw = pointsOf(10, (index) => 50 + index + 10 * (index % 4));
  expect(floorsOf(saw, 4 * minute)).toEqual([
    { atMs: 0, value: 50 },
    { atMs: 4 * minute, value: 54 },
  ]);
  expect(floorsOf([], minute)).toEqual([]);
});

test('the rate of a counter is what it grew by in a second', () => {
  expect(ratesOf(pointsOf(3, (index) => 30 * index))).toEqual([
    { atMs: minute, value: 0.5 },
    { atMs: 2 * minute, value: 0.5 },
  ]);
});

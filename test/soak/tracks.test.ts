import { expect, test } from 'vitest';
import { createRandom } from '../e2e/load.ts';
import { growsBeyond } from './slope.ts';
import { createTrack } from './tracks.ts';

const second = 1_000;

test('a process that leaks is told by its figures, after the warm-up', () => {
  const track = createTrack();
  for (let at = 0; at <= 600; at += 5) {
    // 100 MiB more in an hour beside the heap, which grows too; what is used of it is a saw on 40 MiB; before the first
    // minute all is otherwise.
    const total = (50 + at / 60) * 2 ** 20;
    const memory = (at < 60 ? 500 : 100 + at / 36) * 2 ** 20 + total;
    const heap = (40 + (at % 30)) * 2 ** 20;
    track.add(
      at * second,
      [
        `process_resident_memory_bytes ${memory}\nnodejs_heap_size_total_bytes ${total}`,
        `nodejs_heap_size_used_bytes ${heap}\nprocess_cpu_seconds_total ${at / 4}\n`,
      ].join('\n'),
    );
  }
  const figures = track.figures(60 * second, 10);
  expect(figures.map(({ measure, unit, isTooMuch }) => `${measure} ${unit} ${isTooMuch}`)).toEqual([
    'memory MiB false',
    'memory beside heap MiB true',
    'heap floor MiB false',
    'CPU % of a core false',
  ]);
  const [, memory, heap, cpu] = figures.map(({ slope }) => slope);
  expect(memory?.perHour).toBeCloseTo(100);
  expect([heap?.level, heap?.perHour]).toEqual([expect.closeTo(40), expect.closeTo(0)]);
  expect(cpu?.level).toBeCloseTo(25);
});

test('what fills up and then stays is no leak', () => {
  const [track, random] = [createTrack(), createRandom(1)];
  for (let at = 0; at <= 1_800; at += 5) {
    const memory = 100 + Math.min(at, 600) / 10 + random(80);
    track.add(at * second, `nodejs_external_memory_bytes ${memory * 2 ** 20}`);
  }
  const [memory] = track.figures(0, 10);
  expect(memory !== undefined && growsBeyond(memory.slope, { percent: 10, least: 5 })).toBe(true);
  expect(memory?.isTooMuch).toBe(false);
});

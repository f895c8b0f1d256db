import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { RebuildStanding } from './rebuild-partition.ts';
import { startRebuildThreads } from './rebuild-threads.ts';

/** Threads that answer each order by this code, in which `say` reports. */
const threadsOf = (answer: string, threads = 2) =>
  startRebuildThreads({
    ...{ threads, each: 2 },
    start: () =>
      new Worker(
        `const { parentPort } = require('node:worker_threads');
         const say = (report) => parentPort.postMessage(report);
         const standing = (partition) => ({ partition, start: 0n, next: 5n, goal: 4n });
         parentPort.on('message', ({ partition, generation }) => { ${answer} });
         say({ type: 'ready' });`,
        { eval: true },
      ),
  });

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => undefined).catch((error) => error);

test('each partition is folded once, and what was folded of it is told', async () => {
  const threads = threadsOf("say({ type: 'done', standing: standing(partition), folded: generation });");
  await threads.ready;
  const told: [RebuildStanding, number][] = [];
  const partitions = Array.from({ length: 9 }, (_, partition) => partition);
  await threads.fold({ generation: 7, partitions, onStanding: (...standing) => void told.push(standing) });
  await threads.close();
  told.sort(([a], [b]) => a.partition - b.partition);
  expect(told).toEqual(partitions.map((partition) => [{ partition, start: 0n, next: 5n, goal: 4n }, 7]));
});

test('nothing is to be waited for where there is no partition', async () => {
  const threads = threadsOf('', 1);
  await threads.fold({ generation: 2, partitions: [], onStanding: () => undefined });
  await threads.close();
});

test.each([
  [
    "say({ type: 'failed', code: 'offset-gap', details: { partition } });",
    { code: 'offset-gap', details: { partition: 0 } },
  ],
  ["say({ type: 'fault', text: 'TypeError: of ours' });", { message: 'TypeError: of ours' }],
  ["throw new RangeError('of ours');", { message: 'of ours' }],
  ['process.exit(3);', { message: 'a thread of the rebuild ended with 3' }],
])('what stops one thread stops the fold: %s', async (answer, failure) => {
  const threads = threadsOf(answer, 1);
  const folding = threads.fold({ generation: 2, partitions: [0], onStanding: () => undefined });
  expect(await failureOf(folding)).toMatchObject(failure);
  await threads.close();
});

test('a thread that does not come up is not waited for', async () => {
  const start = () => new Worker("throw new RangeError('no such stage')", { eval: true });
  const threads = startRebuildThreads({ threads: 2, each: 1, start });
  expect(await failureOf(threads.ready)).toMatchObject({ message: 'no such stage' });
  await threads.close();
});

import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { type CountingPipeline, countingPipeline, exactly, partitions } from './counting-pipeline.ts';

const patience = { timeout: 60_000, interval: 100 };
// A member that says nothing for a session of 10 s is taken for dead; the rest is for a machine that is busy.
const takeoverMs = 20_000;
const run = randomUUID().slice(0, 8);
const copyFile = fileURLToPath(new URL('counting-copy.ts', import.meta.url));
const keys = Array.from({ length: 16 }, (_, index) => `takeover-${run}-${index}`);

const copies: ChildProcess[] = [];
let pipeline: CountingPipeline;

beforeAll(async () => {
  pipeline = await countingPipeline(inject('infrastructure'));
});
afterAll(async () => {
  // Those that live leave their group, which would wait for them through the next file.
  await Promise.all(copies.filter((copy) => copy.kill('SIGTERM')).map((copy) => once(copy, 'exit')));
  await pipeline.close();
});

/** Starts a copy of the stage in a process of its own. */
function startCopy(): ChildProcess {
  const copy = fork(copyFile, [JSON.stringify(inject('infrastructure'))], { execArgv: [] });
  copies.push(copy);
  return copy;
}

/** How many partitions a copy has, as it says itself. */
async function held(copy: ChildProcess): Promise<number> {
  const answer = once(copy, 'message');
  copy.send('partitions?');
  const [answered] = await answer;
  return Array.isArray(answered) ? answered.length : 0;
}

const counts = () => Promise.all(keys.map(pipeline.count));

test('one copy is killed and one frozen: the third takes over, the frozen one wakes up late and does no harm', async ({
  annotate,
}) => {
  const here = await pipeline.run();
  const [killed, frozen] = [startCopy(), startCopy()];
  await vi.waitFor(async () => {
    const each = [here.health().partitions.length, await held(killed), await held(frozen)];
    expect(each.toSorted()).toEqual([1, 1, 2]);
  }, patience);

  const load = pipeline.askOverAndOver(keys);
  await vi.waitFor(
    async () => expect(Math.min(...(await counts()).map((each) => each ?? 0))).toBeGreaterThan(10),
    patience,
  );

  frozen.kill('SIGSTOP');
  killed.kill('SIGKILL');
  const from = performance.now();
  await vi.waitFor(() => expect(here.health().partitions).toHaveLength(partitions), patience);
  const before = load.times();
  await vi.waitFor(async () => {
    expect(Math.min(...(await counts()).map((each) => each ?? 0))).toBeGreaterThan(before);
  }, patience);
  const ms = Math.round(performance.now() - from);
  await annotate(`everything is counted again ${ms} ms after one copy was killed and one frozen`);
  expect(ms).toBeLessThan(takeoverMs);

  frozen.kill('SIGCONT');
  await vi.waitFor(async () => expect(await held(frozen)).toBe(partitions / 2), patience);
  await load.end();
  await vi.waitFor(async () => {
    const tallies = await pipeline.tally(keys);
    expect(tallies).toEqual(exactly(tallies));
    expect(tallies.every((each) => each.asked === load.times())).toBe(true);
  }, patience);
  const mine = new Set(keys.map((key) => Buffer.from(key).toString('base64')));
  expect((await pipeline.firsts(deadLetters)).filter(({ value }) => mine.has(value.key ?? ''))).toEqual([]);
});

import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pipelineStages } from '../e2e/kafka.ts';
import { runChaos } from './run-chaos.ts';
import { openStories, type Stories } from './stories.ts';
import { type ChaosWorld, openChaosWorld } from './world.ts';

const [seed, facts, faults, timeMs, calmMs] = [1, 2_000, 15, 20_000, 60_000];
const say = (text: string): void => void process.stderr.write(`  chaos: ${text}\n`);
let world: ChaosWorld;
let stories: Stories;

// One world for all: its start takes longer than most that happens in it.
beforeAll(async () => {
  world = await openChaosWorld(() => undefined);
  stories = await openStories(world);
});
afterAll(async () => {
  await stories.close();
  await world.close();
});

test('while processes die, freeze and lose answers, nothing is lost, doubled or out of order', async () => {
  // One process for all stages, three times: the machine is not the test.
  const processes = [pipelineStages.map(({ stage }) => stage)];
  const report = await runChaos({ world, seed, facts, faults, timeMs, calmMs, processes, say });
  const { problems, deadLetters, badStops, lateStops, ...rest } = report;
  say(JSON.stringify(rest));
  expect({ problems, deadLetters, badStops, lateStops }).toEqual({
    problems: [],
    deadLetters: 0,
    badStops: [],
    lateStops: [],
  });
  expect(rest.counts.raw).toBeGreaterThanOrEqual(facts);
});

const told = [
  { guard: 'fence', name: 'a zombie that writes late', story: 'zombie' },
  { guard: 'watermarks', name: 'a send whose answer was lost', story: 'repeat' },
  { guard: 'one-in-flight', name: 'a send that was lost while the next one left', story: 'overtaken' },
] as const;

test.each(told)('$name does no harm', async ({ story }) => {
  const { problems, counts } = await stories[story]('nothing');
  expect(problems).toEqual([]);
  expect(counts.raw).toBeGreaterThan(0);
});

test.each(told)('$name does harm without the guard: $guard', async ({ guard, story }) => {
  expect((await stories[story](guard)).problems).not.toEqual([]);
});

test('a copy that is told to stop while its join goes unanswered ends by itself', async () => {
  const fleet = stories.fleet();
  const met = world.proxy.add({ api: 'JoinGroup', nth: 1, mischief: { do: 'silence' } });
  const copy = fleet.add(['decision-journal']);
  await met;
  await fleet.stop();
  expect(await copy.ended).toMatchObject({ code: 0, signal: null });
});

test('a copy that is told to stop while its start waits for the registry ends by itself', async () => {
  world.registryGate.shut();
  const fleet = stories.fleet();
  const copy = fleet.add(['decision-journal']);
  for (let said = ''; !said.includes('schema-registry'); ) {
    if (copy.child.stderr === null) throw new TypeError('a copy whose log nobody reads');
    const [part] = await once(copy.child.stderr, 'data');
    said += String(part);
  }
  await fleet.stop();
  world.registryGate.open();
  expect(await copy.ended).toMatchObject({ code: 0, signal: null });
});

import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Snapshot } from '../e2e/checker/check.ts';
import { checkConversations } from '../e2e/checker/conversations.ts';
import { pipelineStages } from '../e2e/kafka.ts';
import { refoldConversations } from './refold-conversations.ts';
import { runChaos } from './run-chaos.ts';
import { spoiltTellings } from './spoilt-tellings.ts';
import { openStories, type Stories } from './stories.ts';
import { type ChaosWorld, openChaosWorld } from './world.ts';

const [seed, facts, faults, timeMs, calmMs] = [1, 2_000, 15, 20_000, 60_000];
const say = (text: string): void => void process.stderr.write(`  chaos: ${text}\n`);
let world: ChaosWorld;
let stories: Stories;
let told: Snapshot;

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
  const { told: _, ...figures } = rest;
  told = rest.told;
  say(JSON.stringify(figures));
  expect({ problems, deadLetters, badStops, lateStops }).toEqual({
    problems: [],
    deadLetters: 0,
    badStops: [],
    lateStops: [],
  });
  expect((rest.counts.raw ?? 0) + (rest.talk.raw ?? 0)).toBeGreaterThanOrEqual(facts);
  expect(rest.talk.batchesClosedByTimer).toBeGreaterThan(0);
});

test.each(spoiltTellings)('the check of conversations reports $what', ({ spoil, problem }) => {
  expect(checkConversations(spoil(told), world.talk).problems).toContainEqual(expect.stringMatching(problem));
});

test('the check of conversations reports a batch and a timer that are left', () => {
  const name = `mirror-projector/0/open-batches:${world.talk.mark}`;
  const rows = new Map([...told.rows, [name, { v: { batches: [{ dueAt: 7 }] } }]]);
  const timers = new Map([[`mirror-projector/0/batch:${world.talk.mark}`, 7]]);
  const { problems } = checkConversations({ ...told, rows, timers }, world.talk);
  expect(problems).toEqual([expect.stringContaining('is open still'), expect.stringContaining('is set still')]);
  expect(refoldConversations({ ...told, rows, timers }, world.talk.mark)).toHaveLength(2);
});

const guards = [
  { guard: 'fence', name: 'a zombie that writes late', story: 'zombie' },
  { guard: 'watermarks', name: 'a send whose answer was lost', story: 'repeat' },
  { guard: 'one-in-flight', name: 'a send that was lost while the next one left', story: 'overtaken' },
] as const;

test.each(guards)('$name does no harm', async ({ story }) => {
  const { problems, counts } = await stories[story]('nothing');
  expect(problems).toEqual([]);
  expect(counts.raw).toBeGreaterThan(0);
});

test.each(guards)('$name does harm without the guard: $guard', async ({ guard, story }) => {
  expect((await stories[story](guard)).problems).not.toEqual([]);
});

test('a timer whose owner dies before the log has it takes effect once, though both owners send it', async () => {
  const { problems, counts } = await stories.orphan('nothing');
  expect(problems).toEqual([]);
  expect(counts).toMatchObject({ raw: 1, batches: 1, timersFired: 1, timersRepeated: 1 });
});

test('it takes effect twice where timers are not known by their ids', async () => {
  const { problems } = await stories.orphan('timers');
  expect(problems).toContainEqual(expect.stringContaining('a repeat'));
  expect(problems).toContainEqual(expect.stringContaining('the refold says nothing'));
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

import { afterAll, beforeAll, expect, test } from 'vitest';
import { pipelineStages } from '../e2e/kafka.ts';
import { runChaos } from './run-chaos.ts';
import { type ChaosWorld, openChaosWorld } from './world.ts';

const [seed, facts, faults, timeMs, calmMs] = [1, 2_000, 15, 30_000, 60_000];
const say = (text: string): void => void process.stderr.write(`  chaos: ${text}\n`);
let world: ChaosWorld;

beforeAll(async () => {
  world = await openChaosWorld(() => undefined);
});
afterAll(() => world.close());

test('while processes die, freeze and lose answers, nothing is lost, doubled or out of order', async () => {
  // One process for all stages, three times: the machine is not the test.
  const processes = [pipelineStages.map(({ stage }) => stage)];
  const report = await runChaos({ world, seed, facts, faults, timeMs, calmMs, processes, say });
  const { problems, deadLetters, badStops, ...rest } = report;
  say(JSON.stringify(rest));
  expect({ problems, deadLetters, badStops }).toEqual({ problems: [], deadLetters: 0, badStops: [] });
  expect(rest.counts.raw).toBeGreaterThanOrEqual(facts);
}, 180_000);

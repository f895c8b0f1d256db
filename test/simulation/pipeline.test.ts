import { expect, test } from 'vitest';
import { checkPipeline } from './check-pipeline.ts';
import { type PipelineRun, runPipeline } from './pipeline.ts';
import { allRules, type Rules } from './stage-fleet.ts';

const seeds = Number(process.env['SEEDS'] ?? 5);
const stormy: Omit<PipelineRun, 'seed'> = {
  facts: 14,
  disturbances: 12,
  faults: { produceFails: 0.05, produceTwice: 0.05, busFails: 0.01, storeFails: 0.02, registryFails: 0.01, timeJumps: 0.02, lateMs: 400 },
};

test('x', async () => {
  const bad: string[] = [];
  const started = Date.now();
  for (let seed = 1; seed <= seeds; seed++) {
    const simulation = await runPipeline({ ...stormy, seed });
    const wrong = checkPipeline(simulation);
    if (wrong.length > 0) bad.push(`seed ${seed}: ${wrong[0]}`);
  }
  console.log(seeds, 'seeds', Date.now() - started, 'ms', bad.length, 'bad');
  expect(bad).toEqual([]);
});
void allRules;
export type { Rules };

import { parentPort, workerData } from 'node:worker_threads';
import { checkPipeline } from './check-pipeline.ts';
import { runPipeline } from './pipeline.ts';
import { checkReminders, runReminders } from './reminders.ts';
import type { SeedOrder, SeedResult } from './run-seeds.ts';
import { allRules } from './stage-fleet.ts';
import { calm, storm } from './weather.ts';

// Made by `runSeeds`, which gives nothing else.
const { scenario, from, to, step, off } = workerData as SeedOrder;
const rules = off === undefined ? allRules : { ...allRules, [off]: false };

const runs: Readonly<Record<SeedOrder['scenario'], (seed: number) => Promise<readonly string[]>>> = {
  pipeline: async (seed) => checkPipeline(await runPipeline({ ...storm, seed, rules })),
  reminders: async (seed) => checkReminders(await runReminders({ ...storm, seed, rules })),
  deaths: async (killAllAt) => checkPipeline(await runPipeline({ ...calm, killAllAt })),
};

for (let seed = from; seed <= to; seed += step) {
  const wrong = await runs[scenario](seed);
  const result: SeedResult = { seed, wrong: wrong.slice(0, 3) };
  parentPort?.postMessage(result);
}

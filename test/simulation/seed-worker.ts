import { parentPort, workerData } from 'node:worker_threads';
import { checkPipeline } from './check-pipeline.ts';
import { runPipeline } from './pipeline.ts';
import { checkReminders, runReminders } from './reminders.ts';
import type { SeedOrder, SeedResult } from './run-seeds.ts';
import { allRules } from './stage-fleet.ts';
import { storm } from './storm.ts';

// Made by `runSeeds`, which gives nothing else.
const { scenario, from, to, step, off } = workerData as SeedOrder;
const rules = off === undefined ? allRules : { ...allRules, [off]: false };

for (let seed = from; seed <= to; seed += step) {
  const wrong =
    scenario === 'pipeline'
      ? checkPipeline(await runPipeline({ ...storm, seed, rules }))
      : checkReminders(await runReminders({ ...storm, seed, rules }));
  const result: SeedResult = { seed, wrong: wrong.slice(0, 3) };
  parentPort?.postMessage(result);
}

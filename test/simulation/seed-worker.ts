import { parentPort, workerData } from 'node:worker_threads';
import { stage as mirrorProjector } from '../../services/mirror-projector/stage.ts';
import { counting } from '../../shared/testing/counting-stage.ts';
import { checkPipeline } from './check-pipeline.ts';
import { runPipeline } from './pipeline.ts';
import { checkGenerations } from './rebuilds.ts';
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
  rebuilds: async (seed) => {
    const mirror = await runPipeline({ ...storm, seed, rebuild: true });
    const counts = await runReminders({ ...storm, seed, rebuild: true });
    return [
      ...checkPipeline(mirror),
      ...checkGenerations(mirror, mirrorProjector),
      ...checkReminders(counts),
      ...checkGenerations(counts, counting),
    ];
  },
  readers: async (seed) => {
    const counts = await runReminders({ ...storm, seed, rebuild: true, forgets: false });
    return [...checkReminders(counts), ...checkGenerations(counts, counting), ...counts.wrongReads()];
  },
  'impatient-readers': async (seed) =>
    (await runReminders({ ...storm, seed, rebuild: true, forgets: false, impatient: true })).wrongReads(),
  deaths: async (killAllAt) => checkPipeline(await runPipeline({ ...calm, killAllAt })),
};

for (let seed = from; seed <= to; seed += step) {
  const wrong = await runs[scenario](seed);
  const result: SeedResult = { seed, wrong: wrong.slice(0, 3) };
  parentPort?.postMessage(result);
}

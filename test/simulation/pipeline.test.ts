import { describe, expect, test } from 'vitest';
import { checkPipeline } from './check-pipeline.ts';
import { runPipeline } from './pipeline.ts';
import { runSeeds } from './run-seeds.ts';
import { storm } from './storm.ts';

const seeds = Number(process.env.SEEDS ?? 2_000);
const single = process.env.SEED;
const enough = 400;

describe.runIf(single !== undefined)('one seed', () => {
  test(`seed ${single}`, async () => {
    expect(checkPipeline(await runPipeline({ ...storm, seed: Number(single) }))).toEqual([]);
  });
});

describe.runIf(single === undefined)('the pipeline', () => {
  test(`equals the plain fold in ${seeds} storms of crashes, zombies, doubled sends and a forgetful store`, async () => {
    const { done, wrong } = await runSeeds({ scenario: 'pipeline', seeds });
    expect({ done, wrong }).toEqual({ done: seeds, wrong: [] });
  });

  test('fires each timer once in effect and takes each answer once, in as many storms', async () => {
    const { done, wrong } = await runSeeds({ scenario: 'reminders', seeds });
    expect({ done, wrong }).toEqual({ done: seeds, wrong: [] });
  });

  test('survives the death of all processes at any single step', async () => {
    const calm = { ...storm, facts: 4, disturbances: 0, faults: {} };
    const length = await runPipeline({ ...calm, seed: 1 }).then((simulation) => simulation.steps());
    const wrong: string[] = [];
    for (let step = 1; step <= length; step++) {
      const simulation = await runPipeline({ ...calm, seed: 1, killAllAt: step });
      wrong.push(...checkPipeline(simulation).map((text) => `death at step ${step}: ${text}`));
    }
    expect(length).toBeGreaterThan(300);
    expect(wrong).toEqual([]);
  });

  test.each(['fence', 'watermarks', 'oneInFlight'] as const)('goes wrong without its guard: %s', async (off) => {
    const { wrong } = await runSeeds({ scenario: 'pipeline', seeds: enough, off, untilWrong: true });
    expect(wrong.length).toBeGreaterThan(0);
  });
});

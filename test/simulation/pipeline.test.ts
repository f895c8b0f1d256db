import { describe, expect, test } from 'vitest';
import { checkPipeline } from './check-pipeline.ts';
import { runPipeline } from './pipeline.ts';
import { runSeeds } from './run-seeds.ts';
import { calm, storm } from './weather.ts';

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
    const run = await runPipeline(calm);
    const steps = run.steps();
    expect(steps).toBeGreaterThan(300);
    // Among them are all those between a timer that is due and one that has fired.
    expect(
      run
        .records('accepted-facts')
        .flat()
        .filter(({ header = '' }) => header.includes(' ti=')).length,
    ).toBeGreaterThan(0);
    const { done, wrong } = await runSeeds({ scenario: 'deaths', seeds: steps });
    expect({ done, wrong }).toEqual({ done: steps, wrong: [] });
  });

  test.each(['fence', 'watermarks', 'timers', 'oneInFlight'] as const)(
    'goes wrong without its guard: %s',
    async (off) => {
      const { wrong } = await runSeeds({ scenario: 'pipeline', seeds: enough, off, untilWrong: true });
      expect(wrong.length).toBeGreaterThan(0);
    },
  );
});

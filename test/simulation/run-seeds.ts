import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Rules } from './stage-fleet.ts';

/** What one worker does. */
export interface SeedOrder {
  /** In `deaths` the seed is the step at which all processes die. */
  readonly scenario: 'pipeline' | 'reminders' | 'rebuilds' | 'readers' | 'impatient-readers' | 'deaths';
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly off: keyof Rules | undefined;
}

/** What was wrong in the run of one seed. */
export interface SeedResult {
  readonly seed: number;
  readonly wrong: readonly string[];
}

/** Runs seeds 1 to `seeds` on all cores; answers those that went wrong. With `untilWrong` it stops at the first. */
export async function runSeeds(options: {
  readonly scenario: SeedOrder['scenario'];
  readonly seeds: number;
  readonly off?: keyof Rules;
  readonly untilWrong?: boolean;
}): Promise<{ readonly done: number; readonly wrong: readonly SeedResult[] }> {
  const workers = availableParallelism();
  const wrong: SeedResult[] = [];
  let done = 0;
  const running = Array.from({ length: workers }, (_, index) => {
    const order: SeedOrder = {
      scenario: options.scenario,
      from: index + 1,
      to: options.seeds,
      step: workers,
      off: options.off,
    };
    return new Worker(new URL('./seed-worker.ts', import.meta.url), { workerData: order });
  });
  await Promise.all(
    running.map(
      (worker) =>
        new Promise<void>((resolve, reject) => {
          worker.on('message', (result: SeedResult) => {
            done++;
            if (result.wrong.length > 0) wrong.push(result);
            if (result.wrong.length > 0 && options.untilWrong === true)
              for (const each of running) void each.terminate();
          });
          worker.on('error', reject);
          worker.on('exit', () => resolve());
        }),
    ),
  );
  return { done, wrong };
}

import type { PipelineRun } from './pipeline.ts';

/** Weather in which everything goes wrong now and then. */
export const storm: Omit<PipelineRun, 'seed'> = {
  facts: 14,
  disturbances: 12,
  faults: {
    produceFails: 0.05,
    produceTwice: 0.05,
    busFails: 0.01,
    storeFails: 0.02,
    registryFails: 0.01,
    timeJumps: 0.02,
    lateMs: 400,
  },
};

/** A short run in which nothing goes wrong but what a test adds. In the one of this seed three batches close by their timers. */
export const calm: PipelineRun = { seed: 11, facts: 4, disturbances: 0, faults: {} };

import { setTimeout as delay } from 'node:timers/promises';
import { isSettled, type OutsideClient } from '../e2e/kafka.ts';
import type { Progress } from './progress.ts';

// A state that holds for one look may be that of a moment.
const [looks, betweenLooksMs] = [3, 300];

/** Waits until every stage has saved and committed all that lies before it, and no timer is to fire any more. */
export async function untilAtRest(client: OutsideClient, progress: Progress, ms: number): Promise<void> {
  const deadline = performance.now() + ms;
  for (let good = 0; good < looks; ) {
    good = (await isAtRest(client, progress)) ? good + 1 : 0;
    if (performance.now() > deadline) {
      const left = { records: progress.behind(), timers: progress.timers() };
      throw new Error(`not at rest after ${ms} ms: ${JSON.stringify(left)}`);
    }
    await delay(betweenLooksMs);
  }
}

async function isAtRest(client: OutsideClient, progress: Progress): Promise<boolean> {
  if (Object.values(progress.behind()).some((records) => records > 0) || progress.timers() > 0) return false;
  try {
    return await isSettled(client);
  } catch {
    // The broker has just come back, and connections to it are still broken: it is not at rest.
    return false;
  }
}

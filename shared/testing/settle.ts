import type { Simulation } from '../runtime/memory/simulation.ts';

const maxSteps = 50_000;

/** Runs a simulation until a condition holds; throws when it cannot come to hold any more, or takes too long to. */
export async function runUntil(simulation: Simulation, until: () => boolean): Promise<void> {
  const end = await simulation.run({ until, steps: maxSteps });
  if (end !== 'until') throw new Error(`the simulation ended before what was waited for: ${end}`);
}

/** Runs a simulation until a piece of work has ended, and gives what it came to. */
export async function settle<T>(simulation: Simulation, work: Promise<T>): Promise<T> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  work.then(note, note);
  await runUntil(simulation, () => settled);
  return work;
}

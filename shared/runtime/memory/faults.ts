import { BusError } from '../../errors.ts';
import type { Process } from './process.ts';

/** How often things go wrong between a process and the world, as probabilities of one operation. */
export interface Faults {
  /** A produce request to a partition is answered by an error; its records have landed, are lost, or land later. */
  readonly produceFails: number;
  /** The records of a partition are appended twice, as by a client's own retry. */
  readonly produceTwice: number;
  /** Another operation of the bus is answered by an error, before or after it had its effect. */
  readonly busFails: number;
  /** An operation of the store is answered by an error, before or after it had its effect. */
  readonly storeFails: number;
  /** An operation of the schema registry is answered by an error. */
  readonly registryFails: number;
  /** Time jumps to the next sleeper although there is work left: timeouts and heartbeats race with everything else. */
  readonly timeJumps: number;
  /** How late records land at most that were answered by an error. */
  readonly lateMs: number;
}

/** Nothing goes wrong. */
export const noFaults: Faults = {
  produceFails: 0,
  produceTwice: 0,
  busFails: 0,
  storeFails: 0,
  registryFails: 0,
  timeJumps: 0,
  lateMs: 0,
};

/** The world did not answer, as far as the caller can tell. */
export const unavailable = (reason: string): BusError => new BusError('infrastructure-unavailable', { reason });

/** Performs an effect as a step that may be answered by an error, with or without its effect. */
export function attempt<T>(process: Process, probability: number, label: string, effect: () => T): Promise<T> {
  return process.step(label, () => {
    if (!process.random.chance(probability)) return effect();
    if (process.random.chance(0.5)) effect();
    throw unavailable(`fault in ${label}`);
  });
}

const retryMs = 20;

/** Repeats a step until the world answers, as a client does by itself. */
export async function persist<T>(process: Process, probability: number, label: string, effect: () => T): Promise<T> {
  for (;;) {
    try {
      return await attempt(process, probability, label, effect);
    } catch (cause) {
      if (!(cause instanceof BusError) || cause.code !== 'infrastructure-unavailable') throw cause;
      await process.clock.sleep(retryMs);
    }
  }
}

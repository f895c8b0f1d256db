import { BusError, errors } from '../errors.ts';
import type { Clock } from './clock.ts';

const tries = 20;
const betweenMs = 250;

/** Asks again, for some seconds, while the answer is that trying again may help: a coordinator that moves, for one. */
export async function patiently<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  for (let left = tries; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (left <= 1 || !(error instanceof BusError) || !errors[error.code].retry) throw error;
      await clock.sleep(betweenMs);
    }
  }
}

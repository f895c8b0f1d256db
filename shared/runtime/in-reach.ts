import type { Clock } from './clock.ts';
import { isUnavailable } from './fold.ts';

/** Asks again until what is asked is in reach. Other failures, and those after `stop`, are thrown. */
export async function inReach<T>(
  ask: () => Promise<T>,
  options: {
    readonly clock: Clock;
    readonly retryMs: number;
    readonly stop?: AbortSignal;
    readonly onWait?: () => void;
  },
): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnavailable(error) || options.stop?.aborted === true) throw error;
      options.onWait?.();
      await options.clock.sleep(options.retryMs, options.stop);
    }
  }
}

import { BusError } from '../../shared/errors.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

/** Lets so much work go on at once, so much wait, and nobody wait for long. */
export interface Lane {
  /** Rejects with `overloaded` where too much waits, and with `infrastructure-unavailable` when the time is over. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Makes a lane. Work whose time was over before its turn is not begun; `onLateFailure` hears of what failed after its time. */
export function createLane(options: {
  readonly atOnce: number;
  readonly maxWaiting: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly onLateFailure: (error: unknown) => void;
}): Lane {
  const waiting: (() => void)[] = [];
  let running = 0;
  const next = (): void => {
    while (running < options.atOnce) {
      const begin = waiting.shift();
      if (begin === undefined) return;
      running += 1;
      begin();
    }
  };

  return {
    async run(work) {
      if (waiting.length >= options.maxWaiting) throw new BusError('overloaded');
      let late = false;
      const tooLate = () => new BusError('infrastructure-unavailable', { problem: 'no answer in time' });
      const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
      const attempt = async () => {
        await turn;
        try {
          if (late) throw tooLate();
          return await work();
        } catch (error) {
          if (late) options.onLateFailure(error);
          throw error;
        } finally {
          running -= 1;
          next();
        }
      };
      const doing = attempt();
      waiting.push(begin);
      next();
      const done = new AbortController();
      const limit = options.clock.sleep(options.timeoutMs, done.signal).then(() => {
        if (done.signal.aborted) return doing;
        late = true;
        throw tooLate();
      });
      try {
        return await Promise.race([doing, limit]);
      } finally {
        done.abort();
      }
    },
  };
}

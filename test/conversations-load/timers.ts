import { Redis } from 'ioredis';

/** The timers of a stage that are not done: of each open batch one. */
export interface Waiting {
  readonly all: number;
  /** Those that are due for longer than a while. */
  readonly overdue: number;
}

/** Looks at the timers of the mirror-projector in Redis, from outside of the product. */
export interface TimerReader {
  readonly look: () => Promise<Waiting>;
  readonly close: () => void;
}

const [stage, partitions] = ['mirror-projector', 12];

/** Reads what waits, and what has for more than so many milliseconds after it was due. */
export function createTimerReader(redisUrl: string, overdueMs: number): TimerReader {
  const redis = new Redis(redisUrl);
  return {
    async look() {
      const asked = redis.pipeline();
      const before = Date.now() - overdueMs;
      for (let partition = 0; partition < partitions; partition++) {
        const key = `sb:1:{${stage}:${partition}}:due-times`;
        asked.zcard(key).zcount(key, '-inf', before);
      }
      const counts = ((await asked.exec()) ?? []).map(([failed, count]) => {
        if (failed) throw failed;
        return Number(count);
      });
      const sum = (odd: number) => counts.reduce((total, count, index) => total + (index % 2 === odd ? count : 0), 0);
      return { all: sum(0), overdue: sum(1) };
    },
    close: () => redis.disconnect(),
  };
}

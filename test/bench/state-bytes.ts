import { Redis } from 'ioredis';

/** What the state of the mirror takes in Redis. */
export interface StateBytes {
  /** Mean of a sample, the key included. */
  readonly channel: number;
  readonly entry: number;
  /** Everything that Redis holds. */
  readonly used: number;
}

const sampleKeys = 500;

/** Asks Redis for the sizes of a sample of rows. */
export async function stateBytes(redisUrl: string): Promise<StateBytes> {
  const redis = new Redis(redisUrl);
  try {
    const mean = async (projection: string): Promise<number> => {
      const sizes: number[] = [];
      let cursor = '0';
      do {
        const pattern = `sb:*:{mirror-projector:*}:${projection}:*`;
        const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
        cursor = next;
        sizes.push(...(await Promise.all(keys.map(async (key) => (await redis.memory('USAGE', key)) ?? 0))));
      } while (cursor !== '0' && sizes.length < sampleKeys);
      return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    };
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    return { channel: await mean('channels'), entry: await mean('entries'), used };
  } finally {
    redis.disconnect();
  }
}

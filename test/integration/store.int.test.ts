import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { expect, inject, test } from 'vitest';
import { silentLog } from '../../shared/runtime/log.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { storeContract } from '../../shared/testing/store-contract.ts';

const { redisUrl } = inject('infrastructure');

storeContract('Redis', () => createRedisStore({ url: redisUrl }, silentLog));

test('a fault of a command is no outage, and its error carries no rows', async () => {
  const store = await createRedisStore({ url: redisUrl }, silentLog);
  const slot = { stage: `fault-${randomUUID()}`, partition: 0, generation: 1 };
  const redis = new Redis(redisUrl);
  await redis.set(`sb:1:{${slot.stage}:0}:watermarks`, 'not a hash');
  const changes = {
    fence: 1n,
    at: 1,
    watermarks: new Map([['raw/0', { offset: 1n, effects: ['0'] }]]),
    rows: [{ row: 'entries:a', json: '"a private text"' }],
    timers: [],
  };
  const error: unknown = await store.save(slot, -1n, changes).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: 'ReplyError', message: expect.stringContaining('WRONGTYPE') });
  expect(inspect(error, { depth: 10 })).not.toContain('private');
  expect(await store.fence(slot)).toBe(-1n);
  await redis.quit();
  await store.close();
});

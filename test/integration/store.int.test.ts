import { inject } from 'vitest';
import { silentLog } from '../../shared/runtime/log.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { storeContract } from '../../shared/testing/store-contract.ts';

const { redisUrl } = inject('infrastructure');

storeContract('Redis', () => createRedisStore({ url: redisUrl }, silentLog));

import { redisAnswers } from '../answers.ts';
import type { Environment } from '../parts.ts';
import type { ProcessPlan } from './process.ts';

/** Says how to run a Redis that appends each write to a file and never evicts a key. */
export function planRedis(options: {
  readonly dir: string;
  readonly redisServer: string;
  readonly port: number;
  readonly environment: Environment;
}): ProcessPlan {
  const { dir, redisServer, port, environment } = options;
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  return {
    title: 'Redis',
    command: redisServer,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    dir,
    environment,
    address: `127.0.0.1:${port}`,
    answers: () => redisAnswers(port),
  };
}

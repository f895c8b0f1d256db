import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Copy, Fleet } from './fleet.ts';
import { loseTail } from './lost-tail.ts';
import type { Progress } from './progress.ts';
import type { Fault } from './schedule.ts';
import type { ChaosWorld } from './world.ts';

const mostCopies = 5;

/** Does what a schedule says. */
export interface Inflictor {
  /** Does one fault; resolves when it is over, with a few words on whom it met, undefined when it met nobody. */
  readonly inflict: (fault: Fault, said: (whom: string) => void) => Promise<string | undefined>;
}

/** `copies` is how many of each are never gone below on purpose. */
export function createInflictor(options: {
  readonly world: ChaosWorld;
  readonly fleet: Fleet;
  readonly progress: Progress;
  readonly copies: number;
  readonly everyStage: readonly string[];
}): Inflictor {
  const { world, fleet, progress, everyStage } = options;
  const { parts, redisUrl } = world.infrastructure;
  // One thing at a time happens to a part.
  const last = new Map<string, Promise<unknown>>();
  const inTurn = <T>(part: string, work: () => Promise<T>): Promise<T> => {
    const next = (last.get(part) ?? Promise.resolve()).then(work);
    // Whoever asked is told; the next one goes on all the same.
    last.set(
      part,
      next.catch(() => undefined),
    );
    return next;
  };
  const chosen = (which: number): Copy | undefined => {
    const running = fleet.running();
    return running[which % running.length];
  };
  const likeIt = (copy: Copy): readonly Copy[] =>
    fleet.running().filter(({ services }) => services.join() === copy.services.join());

  return {
    async inflict(fault, said) {
      switch (fault.type) {
        case 'kill': {
          const copy = chosen(fault.which);
          if (copy === undefined) return undefined;
          progress.moved(copy.services, 'kill');
          fleet.kill(copy, fault.awayMs);
          return copy.name;
        }
        case 'freeze': {
          const copy = chosen(fault.which);
          if (copy === undefined) return undefined;
          said(`${copy.name} for ${fault.ms} ms`);
          progress.moved(copy.services, 'freeze');
          await fleet.freeze(copy, fault.ms);
          return copy.name;
        }
        case 'add': {
          const copy = chosen(fault.which);
          if (copy === undefined || likeIt(copy).length >= mostCopies) return undefined;
          return fleet.add(copy.services).name;
        }
        case 'remove': {
          const copy = chosen(fault.which);
          if (copy === undefined) return undefined;
          progress.moved(copy.services, 'remove');
          fleet.remove(copy);
          if (likeIt(copy).length < options.copies) fleet.add(copy.services);
          return copy.name;
        }
        case 'broker-kill':
          return inTurn('kafka', async () => {
            said(`away for ${fault.awayMs} ms and its start`);
            await parts.kafka?.kill();
            await delay(fault.awayMs);
            await parts.kafka?.restart();
            progress.moved(everyStage, 'broker back');
            return 'back';
          });
        case 'redis-kill':
          return inTurn('redis', async () => {
            await parts.redis?.kill();
            const lost = await loseTail(world.redisDir, fault.lostWrites);
            said(`${lost} writes lost, away for ${fault.awayMs} ms`);
            await delay(fault.awayMs);
            await parts.redis?.restart();
            progress.moved(everyStage, 'redis back');
            return 'back';
          });
        case 'redis-flush':
          return inTurn('redis', async () => {
            const redis = new Redis(redisUrl);
            const rows = await redis.dbsize();
            await redis.flushall();
            redis.disconnect();
            return `${rows} keys gone`;
          });
        case 'registry-kill':
          return inTurn('registry', async () => {
            said(`away for ${fault.awayMs} ms and its start`);
            await parts.registry?.kill();
            await delay(fault.awayMs);
            await parts.registry?.restart();
            return 'back';
          });
        case 'registry-shut':
          return inTurn('registry', async () => {
            said(`for ${fault.ms} ms`);
            world.registryGate.shut();
            await delay(fault.ms);
            world.registryGate.open();
            return 'open';
          });
        case 'registry-slow':
          return inTurn('registry', async () => {
            said(`by ${fault.delayMs} ms, for ${fault.ms} ms`);
            world.registryGate.delay(fault.delayMs);
            await delay(fault.ms);
            world.registryGate.open();
            return 'fast';
          });
        case 'proxy': {
          const { api, nth, mischief } = fault;
          const met = await world.proxy.add({ api, nth, mischief });
          if (met === undefined) return undefined;
          return `${met.clientId}${mischief.do === 'hold' ? ` for ${mischief.ms} ms` : ''}`;
        }
      }
    },
  };
}

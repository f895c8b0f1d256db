import type { Bus } from '../../../shared/runtime/bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { inReach } from '../../../shared/runtime/in-reach.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { SchemaRegistry } from '../../../shared/runtime/schema-registry.ts';
import type { Store } from '../../../shared/runtime/store.ts';
import type { Ports } from '../context.ts';

/** The three things that services run on, reached. */
export interface World {
  readonly bus: Bus;
  readonly store: Store;
  readonly registry: SchemaRegistry;
}

const retryMs = 1_000;

/** Opens what services run on. Waits while something is out of reach, and says for what. */
export async function openWorld(options: {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  readonly stop: AbortSignal;
}): Promise<World> {
  const { ports, clock, log, stop } = options;
  const waiting = <T>(what: string, open: () => Promise<T>): Promise<T> => {
    const onWait = () => log.warn({ code: 'infrastructure-unavailable', what }, 'waiting');
    return inReach(open, { clock, retryMs, stop, onWait });
  };
  const [bus, store, registry] = await Promise.all([
    waiting('kafka', ports.bus),
    waiting('redis', async () => {
      const store = await ports.store();
      try {
        await store.check();
      } catch (error) {
        await store.close();
        throw error;
      }
      return store;
    }),
    waiting('schema-registry', ports.registry),
  ]);
  return { bus, store, registry };
}

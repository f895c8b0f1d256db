import type { Bus } from '../../../shared/runtime/bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { inReach } from '../../../shared/runtime/in-reach.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { requireRequests } from '../../../shared/runtime/protocol-versions.ts';
import type { SchemaRegistry } from '../../../shared/runtime/schema-registry.ts';
import type { Store } from '../../../shared/runtime/store.ts';
import { unlessStopped } from '../../../shared/runtime/unless-stopped.ts';
import type { Ports } from '../context.ts';

/** The three things that services run on, reached. */
export interface World {
  readonly bus: Bus;
  readonly store: Store;
  readonly registry: SchemaRegistry;
}

const retryMs = 1_000;

/** Says what is waited for: once, however often it is tried. */
export function tellsWaiting(log: Log, what: string): () => void {
  let told = false;
  return () => {
    if (!told) log.warn({ code: 'infrastructure-unavailable', what }, 'waiting');
    told = true;
  };
}

/** Opens something and looks whether it will do; what will not is closed again. */
async function checked<T extends { readonly close: () => Promise<void> }>(
  open: () => Promise<T>,
  check: (opened: T) => Promise<void>,
): Promise<T> {
  const opened = await open();
  try {
    await check(opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
  return opened;
}

/**
 * Opens what services run on. Waits while something is out of reach, says for what, and rejects as soon as it is stopped.
 * Throws `brokers-unsupported` and `redis-may-evict`.
 */
export async function openWorld(options: {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly log: Log;
  readonly stop: AbortSignal;
}): Promise<World> {
  const { ports, clock, log, stop } = options;
  const waiting = <T>(what: string, open: () => Promise<T>): Promise<T> =>
    inReach(open, { clock, retryMs, stop, onWait: tellsWaiting(log, what) });
  const opening = Promise.all([
    waiting('kafka', () =>
      checked(ports.bus, async (bus) => requireRequests((await bus.inspect({ topics: [], groups: [] })).requests)),
    ),
    waiting('redis', () => checked(ports.store, (store) => store.check())),
    waiting('schema-registry', ports.registry),
  ]).then(([bus, store, registry]) => ({ bus, store, registry }));
  try {
    return await unlessStopped(stop, opening);
  } catch (error) {
    // What comes into reach after the stop belongs to nobody.
    opening.then(closeWorld, () => undefined);
    throw error;
  }
}

/** Closes what a world holds open; how that goes tells nothing any more. */
export const closeWorld = ({ bus, store }: World): Promise<unknown> => Promise.allSettled([bus.close(), store.close()]);

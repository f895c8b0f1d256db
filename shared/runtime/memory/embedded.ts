import type { Bus } from '../bus.ts';
import type { SchemaRegistry } from '../schema-registry.ts';
import type { Store } from '../store.ts';
import { noFaults } from './faults.ts';
import { createMemoryBroker } from './memory-broker.ts';
import { createMemoryBus } from './memory-bus.ts';
import { createMemoryRegistry, createMemoryRegistryState } from './memory-registry.ts';
import { createMemoryStore, createMemoryStoreState } from './memory-store.ts';
import { thisProcess } from './process.ts';

/** A log, a store and a registry in the memory of this process, in real time. Nothing survives it. */
export interface EmbeddedInfrastructure {
  /** A connection to the log; each service closes its own. */
  readonly bus: () => Bus;
  readonly store: () => Store;
  readonly registry: () => SchemaRegistry;
}

/** Makes an empty infrastructure in memory. */
export function createEmbeddedInfrastructure(): EmbeddedInfrastructure {
  const world = { now: thisProcess.clock.now, changed: () => undefined };
  const broker = createMemoryBroker(world, { faults: noFaults, maxBatch: 500, heartbeatMs: 500, sessionMs: 10_000 });
  const stored = createMemoryStoreState({ ...world, history: false });
  const registered = createMemoryRegistryState();
  return {
    bus: () => createMemoryBus(broker, thisProcess),
    store: () => createMemoryStore(stored, thisProcess, noFaults),
    registry: () => createMemoryRegistry(registered, thisProcess, 0),
  };
}

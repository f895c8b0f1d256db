import type { Bus, IncomingRecord, TopicSpec } from '../bus.ts';
import type { SchemaRegistry } from '../schema-registry.ts';
import type { Generations, Slot, SlotPosition, StatePartition, Store, StoredTimer } from '../store.ts';
import { type Faults, noFaults } from './faults.ts';
import { createMemoryBroker } from './memory-broker.ts';
import { createMemoryBus } from './memory-bus.ts';
import { createMemoryRegistry, createMemoryRegistryState } from './memory-registry.ts';
import { createMemoryStore, createMemoryStoreState, positionOf } from './memory-store.ts';
import { type Random, seededRandom } from './random.ts';
import { createScheduler, type RunBounds, type RunEnd, type ScheduledProcess } from './scheduler.ts';

/** A process of a simulation, with its own connections to the shared world. */
export interface SimulatedProcess extends ScheduledProcess {
  readonly bus: Bus;
  readonly store: Store;
  readonly registry: SchemaRegistry;
}

/** A world in memory, what is done in it, and what can be seen from above. */
export interface Simulation {
  /** A new process; names may repeat. */
  readonly process: (name: string) => SimulatedProcess;
  readonly run: (bounds?: RunBounds) => Promise<RunEnd>;
  /** The simulation's own chance: take all choices of a test from here. */
  readonly random: Random;
  readonly now: () => number;
  readonly createTopics: (topics: readonly Pick<TopicSpec, 'name' | 'partitions'>[]) => void;
  /** The records of a topic, by partition. */
  readonly records: (topic: string) => readonly (readonly IncomingRecord[])[];
  readonly truncate: (topic: string, partition: number, start: bigint) => void;
  /** The committed offset; -1 where there is none. */
  readonly committed: (group: string, topic: string, partition: number) => bigint;
  readonly generations: (at: StatePartition) => Generations;
  readonly position: (slot: Slot) => SlotPosition;
  readonly row: (slot: Slot, row: string) => string | undefined;
  /** All rows of a slot that have not expired, by name. */
  readonly rows: (slot: Slot) => ReadonlyMap<string, string>;
  readonly timers: (slot: Slot) => ReadonlyMap<string, StoredTimer>;
  /** The store loses so many of its newest saves, all of them with `Infinity`. */
  readonly forget: (saves: number) => void;
  /** Registers a schema from above and answers its id. */
  readonly register: (subject: string, schema: string) => number;
  readonly trace: () => readonly string[];
}

/** Makes a world in which only the seed decides what happens when, and what goes wrong. */
export function createSimulation(options: {
  readonly seed: number;
  readonly faults?: Partial<Faults>;
  readonly maxBatch?: number;
  readonly heartbeatMs?: number;
  readonly sessionMs?: number;
  readonly trace?: boolean;
}): Simulation {
  const random = seededRandom(options.seed);
  const faults = { ...noFaults, ...options.faults };
  const scheduler = createScheduler({ random, timeJumps: faults.timeJumps, trace: options.trace ?? false });
  const { now, changed } = scheduler;
  const { maxBatch = 8, heartbeatMs = 50, sessionMs = 250 } = options;
  const broker = createMemoryBroker({ now, changed }, { faults, maxBatch, heartbeatMs, sessionMs });
  const store = createMemoryStoreState({ now, changed, history: true });
  const registry = createMemoryRegistryState();

  return {
    process(name) {
      const process = scheduler.process(name);
      return {
        ...process,
        bus: createMemoryBus(broker, process),
        store: createMemoryStore(store, process, faults),
        registry: createMemoryRegistry(registry, process, faults.registryFails),
      };
    },
    run: scheduler.run,
    random,
    now,
    createTopics: (topics) => topics.forEach(broker.log.create),
    records: broker.log.records,
    truncate: broker.log.truncate,
    committed: broker.groups.committed,
    generations: (at) => store.generations(at),
    position: (slot) => positionOf(store.slot(slot)),
    row: store.row,
    rows: (slot) =>
      new Map(
        [...store.slot(slot).rows.keys()].flatMap((row) => {
          const json = store.row(slot, row);
          return json === undefined ? [] : [[row, json] as const];
        }),
      ),
    timers: (slot) => new Map(store.slot(slot).timers),
    forget: store.forget,
    register: registry.register,
    trace: scheduler.trace,
  };
}

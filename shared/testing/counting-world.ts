import { z } from 'zod';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import type { Topic } from '../../schemas/define.ts';
import { jsonSchemaText, subjectOf } from '../json-schema.ts';
import { partitionOf } from '../partition.ts';
import type { Bus, IncomingRecord } from '../runtime/bus.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Codec, createCodec } from '../runtime/codec.ts';
import { formatHeader, type RecordHeader } from '../runtime/header.ts';
import type { Faults } from '../runtime/memory/faults.ts';
import { createSimulation, type SimulatedProcess, type Simulation } from '../runtime/memory/simulation.ts';
import { type RuntimeSettings, config as runtimeConfig } from '../runtime/runtime-settings.ts';
import { createSender, type Sender } from '../runtime/sender.ts';
import type { Slot, Store } from '../runtime/store.ts';
import { type Ask, asks, counted, counts } from './counting-stage.ts';
import { settle } from './settle.ts';

const StoredCount = z.object({ v: counts.value });

/** The topics of the counting stage. */
export const countingTopics: readonly Topic[] = [
  asks as Topic,
  counted as Topic,
  decisions as Topic,
  deadLetters as Topic,
];

/** Settings of the shell as they are where nothing is said, but for these. */
export const runtimeWith = (some: Partial<RuntimeSettings>): RuntimeSettings => ({
  ...runtimeConfig.schema.parse({}),
  ...some,
});

/** What a process of the counting stage runs on. Its bus and store tell the world's log of what they did. */
export interface CountingProcess {
  readonly process: SimulatedProcess;
  readonly bus: Bus;
  readonly store: Store;
  readonly codec: Codec;
  readonly sender: Sender;
  readonly clock: Clock;
}

/** A world in memory in which the counting stage can run. */
export interface CountingWorld {
  readonly simulation: Simulation;
  /** What became of the world, in order: `produce counted`, `save 3`, `commit 0:4`, … */
  readonly log: string[];
  readonly start: (name?: string) => Promise<CountingProcess>;
  /** Appends records to `asks`, each to the partition of its key; bytes, a text or null go to partition 0 as they are. */
  readonly ask: (...values: readonly (Ask | Buffer | null)[]) => Promise<void>;
  readonly askWith: (header: RecordHeader, value: Ask) => Promise<void>;
  readonly asked: (partition?: number) => readonly IncomingRecord[];
  /** The values of a topic, partition by partition. */
  readonly values: <V>(topic: Topic<V>) => readonly V[];
  readonly slot: (partition?: number) => Slot;
  readonly counts: (partition?: number) => Readonly<Record<string, number>>;
}

/** Makes a world with the topics and schemas of the counting stage. */
export async function countingWorld(
  options: {
    readonly seed?: number;
    readonly partitions?: number;
    readonly maxBatch?: number;
    readonly faults?: Partial<Faults>;
    readonly runtime?: Partial<RuntimeSettings>;
  } = {},
): Promise<CountingWorld> {
  const { seed = 1, partitions = 1, maxBatch = 8 } = options;
  const simulation = createSimulation({ seed, maxBatch, ...(options.faults && { faults: options.faults }) });
  const runtime = runtimeWith(options.runtime ?? {});
  const log: string[] = [];
  simulation.createTopics(countingTopics.map(({ name }) => ({ name, partitions })));
  for (const topic of countingTopics) simulation.register(subjectOf(topic), jsonSchemaText(topic));
  const outside = simulation.process('outside');
  const codec = await settle(simulation, createCodec({ registry: outside.registry, writes: countingTopics }));

  const append = (value: Ask | Buffer | null, header?: RecordHeader): Promise<void> => {
    const placed =
      value === null || Buffer.isBuffer(value)
        ? { partition: 0, key: null, value }
        : {
            partition: partitionOf(value.key, partitions),
            key: Buffer.from(value.key),
            value: codec.encode(asks, value),
          };
    const record = { topic: 'asks', ...placed, ...(header !== undefined && { header: formatHeader(header) }) };
    return settle(simulation, outside.bus.produce([record]));
  };
  const slot = (partition = 0): Slot => ({ stage: 'counting', partition, generation: 1 });

  return {
    simulation,
    log,
    slot,
    async start(name = 'counting') {
      const process = simulation.process(name);
      const bus: Bus = {
        ...process.bus,
        async produce(records) {
          await process.bus.produce(records);
          log.push(...new Set(records.map(({ topic }) => `produce ${topic}`)));
        },
        async join(group, topic, owner) {
          const membership = await process.bus.join(group, topic, owner);
          return {
            ...membership,
            async commit(offsets) {
              await membership.commit(offsets);
              log.push(`commit ${[...offsets].map(([partition, offset]) => `${partition}:${offset}`).join(' ')}`);
            },
            async leave() {
              await membership.leave();
              log.push('leave');
            },
          };
        },
      };
      const store: Store = {
        ...process.store,
        async save(at, expected, changes) {
          const saved = await process.store.save(at, expected, changes);
          log.push(`${saved.type === 'saved' ? 'save' : saved.type} ${changes.fence}`);
          return saved;
        },
      };
      const own = await settle(simulation, createCodec({ registry: process.registry, writes: countingTopics }));
      const limits = { maxRequestBytes: () => 900_000, retryMs: runtime.retryMs, inFlight: 1 as const };
      const sender = createSender({ bus, clock: process.clock, limits });
      return { process, bus, store, codec: own, sender, clock: process.clock };
    },
    async ask(...values) {
      for (const value of values) await append(value);
    },
    askWith: (header, value) => append(value, header),
    asked: (partition = 0) => simulation.records('asks')[partition] ?? [],
    values: (topic) =>
      simulation.records(topic.name).flatMap((records) =>
        records.map(({ value }) => {
          const decoded = codec.decode(topic, value);
          if (decoded instanceof Promise || decoded.type !== 'value') throw new Error('a record that nobody can read');
          return decoded.value;
        }),
      ),
    counts: (partition = 0) =>
      Object.fromEntries(
        [...simulation.rows(slot(partition))].flatMap(([row, json]) =>
          row.startsWith('counts:') ? [[row.slice('counts:'.length), StoredCount.parse(JSON.parse(json)).v.count]] : [],
        ),
      ),
  };
}

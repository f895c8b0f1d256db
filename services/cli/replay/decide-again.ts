import type { Topic } from '../../../schemas/define.ts';
import type { Bus, OutgoingRecord } from '../../../shared/runtime/bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Codec } from '../../../shared/runtime/codec.ts';
import { parseHeader } from '../../../shared/runtime/header.ts';
import { noFaults } from '../../../shared/runtime/memory/faults.ts';
import { createMemoryStore, createMemoryStoreState } from '../../../shared/runtime/memory/memory-store.ts';
import { thisProcess } from '../../../shared/runtime/memory/process.ts';
import { allGuards, openPartition, type PartitionContext } from '../../../shared/runtime/partition-owner.ts';
import type { RuntimeSettings } from '../../../shared/runtime/runtime-settings.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import { type End, endOf, topicsOfEnds } from './ends.ts';
import type { ReplayRange } from './range.ts';

const chunk = 2_000;

/** What a stage is run again with. */
export interface DecideAgain {
  readonly stage: AnyStage;
  readonly settings: unknown;
  readonly tables: Readonly<Record<string, unknown>>;
  readonly bus: Bus;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly runtime: RuntimeSettings;
  readonly partitionsOf: (topic: string) => number;
  readonly key: string | undefined;
  readonly onRead: (records: number) => void;
}

/** What would come of a stretch now, and of which of its records. */
export interface DecidedAgain {
  readonly partition: number;
  readonly ends: readonly End[];
  readonly offsets: ReadonlySet<bigint>;
}

/**
 * Runs one stretch of a stage's input through it, in the memory of this process: nothing is sent, saved or called. Answers
 * what would come of the records that are compared.
 */
export async function decideAgain(options: DecideAgain, range: ReplayRange): Promise<DecidedAgain> {
  const { stage, bus, codec, clock } = options;
  const topic: string = stage.input.name;
  const topics = new Map<string, Topic>(topicsOfEnds(stage).map((each) => [each.name, each]));
  const ends: End[] = [];
  const offsets = new Set<bigint>();

  const keep = async (records: readonly OutgoingRecord[]): Promise<void> => {
    for (const record of records) {
      const declared = topics.get(record.topic);
      const decoded = declared && (await codec.decode(declared, record.value));
      if (decoded?.type !== 'value') continue;
      const end = endOf(stage, { topic: record.topic, header: parseHeader(record.header), value: decoded.value });
      if (end !== undefined) ends.push(end);
    }
  };
  const state = createMemoryStoreState({ now: clock.now, changed: () => undefined, history: false });
  const context: PartitionContext = {
    ...{ stage, settings: options.settings, tables: options.tables, codec, clock, partitionsOf: options.partitionsOf },
    store: createMemoryStore(state, thisProcess, noFaults),
    runtime: { ...options.runtime, rejectsInARow: 0 },
    sender: { send: keep, pending: () => 0, stop: () => undefined },
    guards: allGuards,
    onFolded: () => undefined,
    onCalls: async () => undefined,
  };
  const slot = { stage: stage.name, partition: range.partition, generation: 1 };
  // What lies before the range is folded silently, as after a loss of the store.
  const open = await openPartition(context, slot, { committed: range.from, start: range.start });

  for (let offset = range.start; offset < range.to; ) {
    const records = await bus.read({ topic, partition: range.partition, offset, limit: chunk });
    const last = records.at(-1)?.offset;
    if (last === undefined) break;
    const wanted = records.filter(
      (record) =>
        record.offset < range.to && (options.key === undefined || record.key?.toString('utf8') === options.key),
    );
    await open.handle(wanted);
    for (const record of wanted) if (record.offset >= range.from) offsets.add(record.offset);
    options.onRead(records.length);
    offset = last + 1n;
  }
  return { partition: range.partition, ends, offsets };
}

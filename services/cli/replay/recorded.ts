import type { Bus } from '../../../shared/runtime/bus.ts';
import type { Codec } from '../../../shared/runtime/codec.ts';
import { parseHeader } from '../../../shared/runtime/header.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import { type End, endOf, topicsOfEnds } from './ends.ts';

const chunk = 2_000;
/** Brokers' clocks differ: an output may be dated a little before what it came of. */
const clockSlackMs = 5_000;

/** What was decided then, as the log has it. */
export interface Recorded {
  readonly ends: readonly End[];
  /** Topics whose first kept record is younger than the range: what they had of it has left them. */
  readonly shortened: readonly string[];
}

/** Reads what a stage made of some stretches of its input. A crash wrote some of it twice: the first one counts. */
export async function recordedEnds(options: {
  readonly stage: AnyStage;
  readonly bus: Bus;
  readonly codec: Codec;
  /** The records whose ends are wanted, by partition. */
  readonly wanted: ReadonlyMap<number, ReadonlySet<bigint>>;
  readonly from: number;
  readonly to: number;
  /** How long after its input an output may have come. */
  readonly settleMs: number;
  readonly onRead: (records: number) => void;
}): Promise<Recorded> {
  const { stage, bus, codec, wanted } = options;
  const ends: End[] = [];
  const shortened = new Set<string>();

  for (const topic of topicsOfEnds(stage)) {
    const bounds = (await bus.offsets(topic.name)) ?? [];
    for (const [partition, { start, end }] of bounds.entries()) {
      const seen = new Set<string>();
      const first = await bus.offsetAt(topic.name, partition, options.from - clockSlackMs);
      const last = await bus.offsetAt(topic.name, partition, options.to + options.settleMs);
      if (start > 0n && first <= start) shortened.add(topic.name);
      for (let offset = first; offset < last && offset < end; ) {
        const records = await bus.read({ topic: topic.name, partition, offset, limit: chunk });
        for (const record of records) {
          const header = parseHeader(record.header);
          const from = header?.from;
          if (from?.topic !== stage.input.name || wanted.get(from.partition)?.has(from.offset) !== true) continue;
          const origin = `${from.partition}/${from.offset}/${from.effect}`;
          if (seen.has(origin)) continue;
          seen.add(origin);
          const decoded = await codec.decode(topic, record.value);
          const told =
            decoded.type === 'value' ? endOf(stage, { topic: topic.name, header, value: decoded.value }) : undefined;
          if (told !== undefined) ends.push(told);
        }
        options.onRead(records.length);
        const newest = records.at(-1)?.offset;
        if (newest === undefined) break;
        offset = newest + 1n;
      }
    }
  }
  return { ends, shortened: [...shortened] };
}

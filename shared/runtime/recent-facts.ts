import { type NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { BusError } from '../errors.ts';
import type { Bus, IncomingRecord } from './bus.ts';
import type { Codec } from './codec.ts';

/** A fact as it lies in the log; `position` is what `signalbox why` takes. */
export interface LoggedFact {
  readonly position: string;
  /** When it was appended, epoch milliseconds. */
  readonly at: number;
  readonly fact: NormalizedFact;
}

/** The newest facts of a connection, newest first, and how many records were looked through for them. */
export interface RecentFacts {
  readonly facts: readonly LoggedFact[];
  readonly looked: number;
}

interface Candidate {
  readonly partition: number;
  readonly record: IncomingRecord;
}

const chunk = 500;

/**
 * Reads the newest facts of one connection. A connection's facts lie in all partitions, by their channels, so the newest
 * stretch of each is looked through: `look` records in all, at most. Throws `topic-missing`.
 */
export async function recentFacts(
  { bus, codec }: { readonly bus: Pick<Bus, 'offsets' | 'read'>; readonly codec: Codec },
  { connectionId, last, look }: { readonly connectionId: string; readonly last: number; readonly look: number },
): Promise<RecentFacts> {
  const topic = normalizedFacts.name;
  const bounds = await bus.offsets(topic);
  if (bounds === undefined) throw new BusError('topic-missing', { topic });
  const each = BigInt(Math.ceil(look / Math.max(1, bounds.length)));
  const candidates: Candidate[] = [];
  let looked = 0;

  for (const [partition, { start, end }] of bounds.entries()) {
    const found: Candidate[] = [];
    for (let offset = end - each > start ? end - each : start; offset < end; ) {
      const records = await bus.read({ topic, partition, offset, limit: chunk });
      const newest = records.at(-1);
      if (newest === undefined) break;
      looked += records.length;
      offset = newest.offset + 1n;
      // An id of a connection stands in JSON as it is: a record without its bytes need not be decoded.
      for (const record of records)
        if (record.value?.includes(connectionId) === true) found.push({ partition, record });
      // Some of those that hold the id hold it elsewhere; a few more than are asked for make up for them.
      found.splice(0, found.length - last * 2);
    }
    candidates.push(...found);
  }

  const facts: LoggedFact[] = [];
  for (const { partition, record } of candidates.toSorted((a, b) => b.record.at - a.record.at || compare(b, a))) {
    if (facts.length === last) break;
    const decoded = await codec.decode(normalizedFacts, record.value);
    if (decoded.type !== 'value' || decoded.value.connectionId !== connectionId) continue;
    facts.push({ position: `${topic}/${partition}/${record.offset}`, at: record.at, fact: decoded.value });
  }
  return { facts, looked };
}

/** Records of one instant by their place, so that the same log always gives the same list. */
const compare = (a: Candidate, b: Candidate): number =>
  a.partition - b.partition || Number(a.record.offset - b.record.offset);

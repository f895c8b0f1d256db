import { type DeadLetter, deadLetters } from '../../../schemas/dead-letter.ts';
import { BusError } from '../../../shared/errors.ts';
import type { LoggedRecord, LogReader } from '../../../shared/journey/log-reader.ts';
import { positionText } from '../../../shared/journey/position.ts';
import { partitionOf } from '../../../shared/partition.ts';
import type { OutgoingRecord } from '../../../shared/runtime/bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Codec } from '../../../shared/runtime/codec.ts';
import { formatHeader, parseHeader } from '../../../shared/runtime/header.ts';
import type { Letter } from './letter.ts';

/**
 * The ids that the rejected message had: a letter's own header names it as the cause. They go on a redriven record
 * without `from`, so the message, and all that comes of it, is called what it was called the first time.
 */
const identityOf = ({ position, header }: LoggedRecord, letter: DeadLetter) => ({
  rootId: letter.rootId,
  causeId: header?.causeId ?? letter.rootId,
  redrive: positionText(position),
});

/** The record to append: the original bytes and key, where that key belongs. */
export function redrivenRecord(logged: LoggedRecord, letter: DeadLetter, partitions: number): OutgoingRecord {
  const key = letter.key === undefined ? null : Buffer.from(letter.key, 'base64');
  // A part that was rejected again, as a whole this time, stays that part.
  const part = letter.part ?? parseHeader(letter.header)?.part;
  const { traceparent } = logged.record;
  return {
    topic: letter.topic,
    partition: key === null ? letter.partition % partitions : partitionOf(key.toString('utf8'), partitions),
    key,
    value: letter.value === undefined ? null : Buffer.from(letter.value, 'base64'),
    header: formatHeader({ ...identityOf(logged, letter), ...(part !== undefined && { part }) }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** The record without a value that marks a letter as redriven; it lies in the letter's own partition. */
export const redriveMark = (logged: LoggedRecord, letter: DeadLetter): OutgoingRecord => ({
  topic: deadLetters.name,
  partition: logged.position.partition,
  key: logged.record.key,
  value: null,
  header: formatHeader(identityOf(logged, letter)),
});

/** What redriving needs of the world. */
export interface RedriveWorld {
  readonly log: Pick<LogReader, 'at' | 'bounds'>;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly send: (records: readonly OutgoingRecord[]) => Promise<void>;
  readonly progress: (done: number) => void;
}

// Small, so that an interrupted redrive leaves few records whose mark is missing.
const batchLetters = 10;

/**
 * Appends the records of letters in their order, at most `rate` a second, and marks each letter after its record is in
 * the log: what is interrupted between the two is redriven again, and known downstream by its ids. Answers how many were
 * redriven; letters that have left their topic meanwhile are passed over.
 */
export async function redriveLetters(letters: readonly Letter[], rate: number, world: RedriveWorld): Promise<number> {
  const { log, codec, clock } = world;
  const size = Math.min(batchLetters, Math.ceil(rate / batchLetters));
  let redriven = 0;
  for (let next = 0; next < letters.length; next += size) {
    const began = clock.now();
    const records: OutgoingRecord[] = [];
    const marks: OutgoingRecord[] = [];
    const batch = letters.slice(next, next + size);
    for (const { position } of batch) {
      const logged = await log.at(position);
      const decoded = logged === undefined ? undefined : await codec.decode(deadLetters, logged.record.value);
      if (logged === undefined || decoded?.type !== 'value') continue;
      const partitions = (await log.bounds(decoded.value.topic)).length;
      records.push(redrivenRecord(logged, decoded.value, partitions));
      marks.push(redriveMark(logged, decoded.value));
    }
    try {
      await world.send(records);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      const letters = batch.map(({ position }) => positionText(position));
      throw new BusError(error.code, { ...error.details, 'redriven before': redriven, 'one of': letters }, error);
    }
    await world.send(marks);
    redriven += records.length;
    world.progress(redriven);
    if (next + size < letters.length)
      await clock.sleep(Math.max(0, (batch.length * 1_000) / rate - (clock.now() - began)));
  }
  return redriven;
}

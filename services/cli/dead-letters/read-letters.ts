import { deadLetters } from '../../../schemas/dead-letter.ts';
import { BusError } from '../../../shared/errors.ts';
import type { LoggedRecord } from '../../../shared/journey/log-reader.ts';
import { positionText } from '../../../shared/journey/position.ts';
import type { Bus } from '../../../shared/runtime/bus.ts';
import { parseHeader } from '../../../shared/runtime/header.ts';
import type { CommandContext } from '../context.ts';
import { type Letter, letterOf } from './letter.ts';
import type { Selection } from './selection.ts';

/** A letter, and when it was redriven for the last time, if it was. */
export interface ListedLetter extends Letter {
  readonly redrivenAt?: number;
}

// Letters carry whole records: few enough of them at once for the memory, enough for the way to the broker and back.
const atOnce = 100;

/** The records of one partition of the dead letters, from an offset to an end that is fixed before. */
export async function* letterRecords(
  bus: Bus,
  { partition, from, end }: { readonly partition: number; readonly from: bigint; readonly end: bigint },
): AsyncGenerator<LoggedRecord, void> {
  const topic = deadLetters.name;
  for (let offset = from; offset < end; ) {
    const records = await bus.read({ topic, partition, offset, limit: atOnce });
    for (const record of records) {
      if (record.offset >= end) return;
      yield { position: { topic, partition, offset: record.offset }, record, header: parseHeader(record.header) };
    }
    const last = records.at(-1);
    if (last === undefined) return;
    offset = last.offset + 1n;
  }
}

/**
 * The chosen letters that the topic holds now, oldest first. A record without a value marks the letter that its header
 * names as redriven. Keeps no bytes, and leaves out repeats.
 */
export async function readLetters(
  context: CommandContext,
  { since, until, fits }: Selection,
): Promise<readonly ListedLetter[]> {
  const [bus, codec] = await Promise.all([context.bus(), context.codec()]);
  const topic = deadLetters.name;
  const bounds = await bus.offsets(topic);
  if (bounds === undefined) throw new BusError('topic-missing', { topic });
  const found: ListedLetter[] = [];
  let looked = 0;

  for (const [partition, { start, end }] of bounds.entries()) {
    const from = since === undefined ? start : await bus.offsetAt(topic, partition, since);
    const letters = new Map<string, Letter>();
    const identities = new Map<string, string>();
    const redriven = new Map<string, number>();
    for await (const logged of letterRecords(bus, { partition, from, end })) {
      looked++;
      if (looked % atOnce === 0) context.terminal.progress(`Looked at ${looked} records of ${topic} …`);
      const { header, record } = logged;
      const position = positionText(logged.position);
      if (record.value === null) {
        const marked = header?.redrive === undefined ? undefined : identities.get(header.redrive);
        if (marked !== undefined) redriven.set(marked, record.at);
        continue;
      }
      if (until !== undefined && record.at >= until) continue;
      const decoded = await codec.decode(deadLetters, record.value);
      if (decoded.type !== 'value') {
        context.terminal.note(`${position} is unreadable, and left out.`);
        continue;
      }
      const letter = letterOf(logged, decoded.value);
      if (!fits(letter)) continue;
      identities.set(position, letter.identity);
      if (!letters.has(letter.identity)) letters.set(letter.identity, letter);
    }
    for (const [id, letter] of letters) {
      const redrivenAt = redriven.get(id);
      found.push({ ...letter, ...(redrivenAt !== undefined && { redrivenAt }) });
    }
  }
  context.terminal.progress(undefined);
  // Stable: within a partition, and so for each key, the order of the log stays.
  return found.sort((a, b) => a.at - b.at);
}

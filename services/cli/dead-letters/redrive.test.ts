import { expect, test } from 'vitest';
import { DeadLetter, deadLetters } from '../../../schemas/dead-letter.ts';
import { decisions } from '../../../schemas/decision.ts';
import type { Topic } from '../../../schemas/define.ts';
import type { LoggedRecord } from '../../../shared/journey/log-reader.ts';
import { callRow } from '../../../shared/runtime/apply-effects.ts';
import type { IncomingRecord, OutgoingRecord } from '../../../shared/runtime/bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type FoldContext, type Folded, foldRecords } from '../../../shared/runtime/fold.ts';
import { parseHeader, type RecordHeader } from '../../../shared/runtime/header.ts';
import { reject } from '../../../shared/stage/effects.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import { type Ask, asks, counted, counting } from '../../../shared/testing/counting-stage.ts';
import { testCodec } from '../../../shared/testing/test-codec.ts';
import { letterOf } from './letter.ts';
import { redriveLetters, redriveMark, redrivenRecord } from './redrive.ts';

const codec = await testCodec([asks as Topic, counted as Topic, decisions as Topic, deadLetters as Topic]);
const base: AnyStage = counting;
const rejecting = (part?: string): AnyStage => ({
  ...base,
  decide: () => [reject('stage-fault', {}, part === undefined ? {} : { part })],
});
const ask: Ask = { type: 'count', key: 'a', emit: 2 };

const recordOf = (header?: string, offset = 7n, value = codec.encode(asks, ask)): IncomingRecord => ({
  offset,
  at: 1_000,
  key: Buffer.from('a'),
  value,
  header,
  traceparent: undefined,
});

/** Folds one record in partition 0, whatever timer or call it says it is being pending. */
function fold(stage: AnyStage, record: IncomingRecord): Folded {
  const header = parseHeader(record.header);
  const decoded = codec.decode(asks, record.value);
  if (decoded instanceof Promise) throw new Error('the codec knows all of these schemas');
  const context: FoldContext = {
    stage,
    settings: {},
    tables: {},
    codec,
    partition: 0,
    partitionsOf: () => 1,
    liveFrom: 0n,
    watermarks: true,
    timerIds: true,
  };
  const reads = decoded.type === 'value' ? counting.reads(decoded.value) : {};
  const timer = header?.timer && { ...header.timer, dueAt: 1_000, json: '{}' };
  const pending = header?.call && callRow(header.call.id);
  return foldRecords(
    context,
    { fence: record.offset - 1n, at: 0, watermarks: new Map() },
    [{ record, header, decoded, reads, timer }],
    (row) => (row === pending ? { value: 'pending' } : undefined),
  );
}

const idsOf = ({ records, outputs }: Folded) => ({
  messages: records.flatMap((each) => (each.type === 'decided' ? [[each.message.id, each.message.rootId]] : [])),
  outputs: outputs.map(({ topic, header }) => {
    const read = parseHeader(header);
    return [topic, read?.rootId, read?.causeId, read?.from?.effect];
  }),
});

/** The dead letter of a fold, as it lies in the log. */
function letterIn({ outputs }: Folded): { readonly logged: LoggedRecord; readonly letter: DeadLetter } {
  const made = outputs.find(({ topic }) => topic === deadLetters.name);
  const decoded = codec.decode(deadLetters, made?.value ?? null);
  if (decoded instanceof Promise || decoded.type !== 'value') throw new Error('no letter');
  const record = { ...recordOf(made?.header, 4n), key: made?.key ?? null, value: made?.value ?? null };
  const position = { topic: deadLetters.name, partition: 3, offset: 4n };
  return { logged: { position, record, header: parseHeader(record.header) }, letter: decoded.value };
}

const redrivenOf = (folded: Folded): { readonly record: IncomingRecord; readonly header: RecordHeader | undefined } => {
  const { logged, letter } = letterIn(folded);
  const { header, value } = redrivenRecord(logged, letter, 1);
  return { record: recordOf(header, 99n, value ?? undefined), header: parseHeader(header) };
};

test.each([
  ['came from outside', undefined],
  ['a stage made', '1 root cause f=upstream%2F0%2F5%2Firis%7Cdesk'],
  ['was a timer', '1 root cause t=reminder ti=cause.3'],
  ['was the answer to a call', '1 root cause c=cause.4'],
])('a record that %s keeps its ids, and those of all that comes of it', (_, header) => {
  const redriven = redrivenOf(fold(rejecting(), recordOf(header)));
  expect(idsOf(fold(counting, redriven.record))).toEqual(idsOf(fold(counting, recordOf(header))));
  expect(redriven.header).toMatchObject({ redrive: 'dead-letters/3/4' });
  expect(redriven.header?.from).toBeUndefined();
});

test('a record that is rejected again and redriven again keeps its ids', () => {
  const first = redrivenOf(fold(rejecting(), recordOf('1 root cause f=upstream%2F0%2F5%2F0')));
  const second = redrivenOf(fold(rejecting(), first.record));
  expect(second.header).toEqual(first.header);
  expect(idsOf(fold(counting, second.record))).toEqual(idsOf(fold(counting, first.record)));
});

test('bytes that nobody could read go back as they were, under the id of their place', () => {
  const folded = fold(counting, recordOf(undefined, 7n, Buffer.from('{}')));
  expect(redrivenOf(folded)).toEqual({
    record: recordOf('1 asks/0/7 asks/0/7 r=dead-letters/3/4', 99n, Buffer.from('{}')),
    header: { rootId: 'asks/0/7', causeId: 'asks/0/7', redrive: 'dead-letters/3/4' },
  });
});

test('a part stays that part, also when the record was then rejected as a whole', () => {
  const part = redrivenOf(fold(rejecting('iris|odd'), recordOf()));
  expect(part.header?.part).toBe('iris|odd');
  expect(redrivenOf(fold(rejecting(), part.record)).header?.part).toBe('iris|odd');
});

test('the key says in which partition, the letter only where there is no key; the mark lies beside the letter', () => {
  const { logged, letter } = letterIn(fold(rejecting(), recordOf()));
  expect(redrivenRecord(logged, letter, 12)).toMatchObject({ topic: 'asks', partition: 4, key: Buffer.from('a') });
  const { key: _, ...keyless } = { ...letter, partition: 5 };
  expect(redrivenRecord(logged, DeadLetter.parse(keyless), 4)).toMatchObject({ partition: 1, key: null });
  expect(redriveMark(logged, letter)).toEqual({
    topic: 'dead-letters',
    partition: 3,
    key: Buffer.from('a'),
    value: null,
    header: '1 asks/0/7 asks/0/7 r=dead-letters/3/4',
  });
});

test('records go no faster than the rate, each before its mark, and letters that are gone are passed over', async () => {
  const { logged, letter } = letterIn(fold(rejecting(), recordOf()));
  const letters = Array.from({ length: 25 }, (_, index) => {
    const position = { ...logged.position, offset: BigInt(index) };
    return { ...letterOf(logged, letter), position };
  });
  let now = 0;
  const clock: Clock = {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
  const sent: string[] = [];
  const told: number[] = [];
  const redriven = await redriveLetters(letters, 100, {
    log: {
      bounds: async () => [{ start: 0n, end: 100n }],
      at: async (position) => (position.offset === 3n ? undefined : { ...logged, position }),
    },
    codec,
    clock,
    async send(records: readonly OutgoingRecord[]) {
      now += 20;
      sent.push(`${now} ms: ${records.length} to ${records[0]?.topic}`);
    },
    progress: (done) => told.push(done),
  });
  expect(sent).toEqual([
    '20 ms: 9 to asks',
    '40 ms: 9 to dead-letters',
    '120 ms: 10 to asks',
    '140 ms: 10 to dead-letters',
    '220 ms: 5 to asks',
    '240 ms: 5 to dead-letters',
  ]);
  expect([redriven, told]).toEqual([24, [9, 19, 24]]);
});

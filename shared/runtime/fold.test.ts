import { expect, test } from 'vitest';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import { defineLocalProjection, type Topic } from '../../schemas/define.ts';
import { put } from '../stage/effects.ts';
import { defineStage } from '../stage/stage.ts';
import { type Ask, asks, counted, counting, counts } from '../testing/counting-stage.ts';
import { testCodec } from '../testing/test-codec.ts';
import type { Row } from './apply-effects.ts';
import type { IncomingRecord } from './bus.ts';
import { Fault, type FoldContext, type Folded, type FoldInput, foldRecords } from './fold.ts';
import { formatHeader, parseHeader, type RecordHeader } from './header.ts';
import type { SlotPosition, StoredTimer } from './store.ts';

const topics: readonly Topic[] = [asks as Topic, counted as Topic, decisions as Topic, deadLetters as Topic];
const codec = await testCodec(topics);
const start: SlotPosition = { fence: -1n, at: 0, watermarks: new Map() };

const context: FoldContext = {
  stage: counting,
  settings: {},
  tables: {},
  codec,
  partition: 0,
  partitionsOf: () => 1,
  liveFrom: 0n,
  watermarks: true,
  timerIds: true,
};

interface Given {
  readonly ask?: Ask;
  readonly bytes?: Buffer;
  readonly at?: number;
  readonly header?: RecordHeader;
  readonly timer?: StoredTimer;
}

const inputOf = ({ ask, bytes, at = 1_000, header, timer }: Given, index: number): FoldInput => {
  const value = bytes ?? (ask === undefined ? null : codec.encode(asks, ask));
  const record: IncomingRecord = {
    offset: BigInt(index),
    at,
    key: ask === undefined ? null : Buffer.from(ask.key),
    value,
    header: header && formatHeader(header),
    traceparent: undefined,
  };
  const decoded = codec.decode(asks, value);
  if (decoded instanceof Promise) throw new Error('the codec knows all of these schemas');
  const reads = decoded.type === 'value' ? counting.reads(decoded.value) : {};
  return { record, header, decoded, reads, timer };
};

const foldOf = (
  given: readonly Given[],
  more: Partial<FoldContext> = {},
  rows: ReadonlyMap<string, Row> = new Map(),
): Folded => foldRecords({ ...context, ...more }, start, given.map(inputOf), (row) => rows.get(row));

const sent = (folded: Folded) =>
  folded.outputs.map(({ topic, value, header }) => {
    const declared = topics.find(({ name }) => name === topic);
    if (declared === undefined || value === null) throw new Error('a record of a topic that nobody declared');
    const decoded = codec.decode(declared, value);
    if (decoded instanceof Promise || decoded.type !== 'value') throw new Error('a record that nobody can read');
    const read = parseHeader(header);
    return { topic, value: decoded.value, from: read?.from?.effect, cause: read?.causeId, root: read?.rootId };
  });

const from = (offset: bigint, effect: string, partition = 0): RecordHeader => ({
  rootId: 'root',
  causeId: 'cause',
  from: { topic: 'upstream', partition, offset, effect },
});

test('each record sees what the one before it put, and outputs carry their origin', () => {
  const folded = foldOf([{ ask: { type: 'count', key: 'a', emit: 0 } }, { ask: { type: 'count', key: 'a', emit: 2 } }]);
  expect(sent(folded)).toEqual([
    { topic: 'counted', value: { key: 'a', count: 2 }, from: '1', cause: 'asks/0/1', root: 'asks/0/1' },
    { topic: 'counted', value: { key: 'a', count: 2 }, from: '2', cause: 'asks/0/1', root: 'asks/0/1' },
  ]);
  expect(folded.rowWrites).toEqual([{ row: 'counts:a', json: '{"v":{"count":2}}' }]);
  expect(folded.position).toEqual({ fence: 1n, at: 1_000, watermarks: new Map() });
});

test('a record below the watermark of its source, or among the effects seen there, is a repeat', () => {
  const ask = { type: 'count', key: 'a', emit: 0 } as const;
  const folded = foldOf([
    { ask, header: from(5n, '0') },
    { ask, header: from(5n, '1') },
    { ask, header: from(5n, '0') },
    { ask, header: from(4n, '9') },
    { ask, header: from(4n, '9', 1) },
    { ask, header: from(6n, '0') },
  ]);
  expect(folded.records.map(({ type }) => type)).toEqual([
    'decided',
    'decided',
    'repeat',
    'repeat',
    'decided',
    'decided',
  ]);
  expect(folded.rows).toEqual(new Map([['counts:a', { value: { count: 4 } }]]));
  expect(folded.changedWatermarks).toEqual(
    new Map([
      ['upstream/0', { offset: 6n, effects: ['0'] }],
      ['upstream/1', { offset: 4n, effects: ['9'] }],
    ]),
  );
});

test('records below the committed offset are folded silently: state and timers, no sends and no calls', () => {
  const folded = foldOf(
    [
      { ask: { type: 'count', key: 'a', emit: 1 } },
      { ask: { type: 'remind', key: 'a', inMs: 5 } },
      { ask: { type: 'call', key: 'b' } },
      { ask: { type: 'reject', key: 'c' } },
      { ask: { type: 'count', key: 'a', emit: 1 } },
    ],
    { liveFrom: 4n },
  );
  expect(sent(folded).map(({ value }) => value)).toEqual([{ key: 'a', count: 2 }]);
  expect(folded.calls).toEqual([]);
  expect([...folded.timers.keys()]).toEqual(['reminder:a']);
  expect([...folded.rows.keys()]).toEqual(['counts:a', 'counts:b', '$calls:asks/0/2.1']);
});

test('an output that its topic refuses rejects its message silently too, and nothing of it is kept', () => {
  const given: readonly Given[] = [
    { ask: { type: 'bloat', key: 'a', bytes: 1_100_000 } },
    { ask: { type: 'bloat', key: 'b', bytes: 600_000 } },
  ];
  const [live, silent] = [foldOf(given), foldOf(given, { liveFrom: 2n })];
  expect([silent.outputs, silent.rows, silent.rowWrites]).toEqual([[], live.rows, live.rowWrites]);
  expect([...live.rows.keys()]).toEqual(['counts:b']);
});

test('message time never goes back, and a row past its life reads as absent', () => {
  const rows = new Map<string, Row>([['counts:a', { value: { count: 7 }, expireAt: 2_000 }]]);
  const at = (time: number) => ({ ask: { type: 'count', key: 'a', emit: 1 } as const, at: time });
  expect(sent(foldOf([at(1_999)], {}, rows)).map(({ value }) => value)).toEqual([{ key: 'a', count: 8 }]);
  expect(sent(foldOf([at(2_000)], {}, rows)).map(({ value }) => value)).toEqual([{ key: 'a', count: 1 }]);
  expect(foldOf([at(3_000), at(1_000)]).position.at).toBe(3_000);
});

test('a timer that fired is applied once, at its due time or later, and not at all when it was replaced or cancelled', () => {
  const set = foldOf([{ ask: { type: 'remind', key: 'a', inMs: 500 } }]).timers.get('reminder:a');
  if (set === undefined || !('set' in set)) throw new Error('no timer was set');
  expect(set.set).toEqual({
    key: 'reminder:a',
    id: 'asks/0/0.0',
    dueAt: 1_500,
    json: JSON.stringify({ rootId: 'asks/0/0', causeId: 'asks/0/0', value: { type: 'reminded', key: 'a' } }),
  });
  const header: RecordHeader = {
    rootId: 'asks/0/0',
    causeId: 'asks/0/0',
    timer: { key: 'reminder:a', id: 'asks/0/0.0' },
  };
  const fired = { ask: { type: 'reminded', key: 'a' } as const, header, timer: set.set, at: 1_400 };

  const folded = foldOf([fired, fired]);
  expect(folded.records.map(({ type }) => type)).toEqual(['decided', 'repeat']);
  expect(folded.position.at).toBe(1_500);
  expect(folded.timers).toEqual(new Map([['reminder:a', { clear: 'reminder:a' }]]));

  const other = { ask: { type: 'count', key: 'b', emit: 0 } as const };
  const replaced = foldOf([other, { ask: { type: 'remind', key: 'a', inMs: 9 } }, fired]);
  expect(replaced.records.map(({ type }) => type)).toEqual(['decided', 'decided', 'repeat']);
  const cancelled = foldOf([{ ask: { type: 'calm', key: 'a' } }, fired]);
  expect(cancelled.records.map(({ type }) => type)).toEqual(['decided', 'repeat']);
});

test('a second answer to a call is a repeat', () => {
  const called = foldOf([{ ask: { type: 'call', key: 'a' } }]);
  expect(called.calls.map(({ id, rootId, causeId }) => ({ id, rootId, causeId }))).toEqual([
    { id: 'asks/0/0.1', rootId: 'asks/0/0', causeId: 'asks/0/0' },
  ]);
  const rows = new Map(
    [...called.rows].flatMap(([row, value]): [string, Row][] => (value === undefined ? [] : [[row, value]])),
  );
  const header: RecordHeader = { rootId: 'asks/0/0', causeId: 'asks/0/0', call: { id: 'asks/0/0.1' } };
  const answered = { ask: { type: 'answered', key: 'a', status: 204 } as const, header };
  const folded = foldOf([answered, answered], {}, rows);
  expect(sent(folded).map(({ value }) => value)).toEqual([{ key: 'a', count: 204 }]);
  expect(folded.records.map(({ type }) => type)).toEqual(['decided', 'repeat']);
});

test('poison of every form goes to the dead letters with its bytes, its code and a decision, and the rest goes on', () => {
  const frame = codec.encode(asks, { type: 'count', key: 'a', emit: 1 });
  const wrongMember = Buffer.concat([frame.subarray(0, 5), Buffer.from('{"type":"count","key":7}')]);
  const folded = foldOf([
    { bytes: Buffer.from('{}') },
    { bytes: Buffer.concat([frame.subarray(0, 5), Buffer.from('{')]) },
    { bytes: wrongMember },
    {},
    { ask: { type: 'throw', key: 'a' } },
    { ask: { type: 'bloat', key: 'a', bytes: 1_100_000 } },
    { ask: { type: 'reject', key: 'a' } },
    { ask: { type: 'count', key: 'a', emit: 1 } },
  ]);
  const codes = sent(folded).flatMap(({ topic, value }) =>
    topic === 'dead-letters' ? [(value as { code: string }).code] : [],
  );
  expect(codes).toEqual([
    'frame-invalid',
    'frame-invalid',
    'contract-violated',
    'frame-invalid',
    'stage-fault',
    'output-too-large',
    'payload-invalid',
  ]);
  const reasons = sent(folded).flatMap(({ topic, value }) =>
    topic === 'decisions' ? [(value as { reason: string }).reason] : [],
  );
  expect(reasons).toEqual(codes);
  expect(sent(folded)[4]?.value).toMatchObject({
    topic: 'asks',
    partition: 0,
    offset: '2',
    value: wrongMember.toString('base64'),
    rootId: 'asks/0/2',
  });
  // Nothing that was rejected counted.
  expect(sent(folded).at(-1)?.value).toEqual({ key: 'a', count: 1 });
});

test('a place of another partition is a fault of ours, not a write', () => {
  const folded = foldOf([{ ask: { type: 'trespass', key: 'a', owner: 'b' } }], {
    partitionsOf: (topic) => (topic === 'asks' ? 997 : 1),
    partition: 0,
  });
  expect(folded.rowWrites).toEqual([]);
  expect(folded.records.map(({ type }) => type)).toEqual(['rejected', 'decided']);
});

test("a row of the partition's own lies in each, whatever the key of a record that came there", () => {
  const notes = defineLocalProjection({ ...counts, name: 'notes' });
  const noting = defineStage({
    ...counting,
    reads: () => ({ note: notes.at('all') }),
    decide: ({ note }) => [put(notes.at('all'), { count: (note?.count ?? 0) + 1 })],
  });
  const inputs = ['a', 'b'].map((key, index) => ({
    ...inputOf({ ask: { type: 'count', key, emit: 1 } }, index),
    reads: { note: notes.at('all') },
  }));
  for (const partition of [0, 1]) {
    const wide = { stage: noting, partition, partitionsOf: (topic: string) => (topic === 'asks' ? 997 : 1) };
    const folded = foldRecords({ ...context, ...wide }, start, inputs, () => undefined);
    expect(folded.rowWrites).toEqual([{ row: 'notes:all', json: '{"v":{"count":2}}' }]);
  }
});

test('one failed part leaves the other effects of its message standing', () => {
  const folded = foldOf([{ ask: { type: 'reject', key: 'a', part: 'iris|desk' } }]);
  expect(folded.rowWrites).toEqual([{ row: 'counts:a', json: '{"v":{"count":1}}' }]);
  expect(sent(folded).map(({ topic, from: effect }) => [topic, effect])).toEqual([
    ['dead-letters', 'dead:iris|desk'],
    ['decisions', 'outcome:iris|desk'],
  ]);
});

test('an outcome says which record was decided on and what it was about', () => {
  expect(sent(foldOf([{ ask: { type: 'finish', key: 'a' } }]))).toEqual([
    {
      topic: 'decisions',
      value: {
        rootId: 'asks/0/0',
        stage: 'counting',
        status: 'recorded',
        reason: 'as asked',
        at: 1_000,
        from: 'asks/0/0',
        about: { sourceEntryId: 'a' },
      },
      from: 'outcome:0',
      cause: 'asks/0/0',
      root: 'asks/0/0',
    },
  ]);
});

test('a member of the union that is newer than this reader is passed over and moves the fence', () => {
  const frame = codec.encode(asks, { type: 'calm', key: 'a' });
  const folded = foldOf([{ bytes: Buffer.concat([frame.subarray(0, 5), Buffer.from('{"type":"dance","key":"a"}')]) }]);
  expect(folded.records).toEqual([{ type: 'unknown-type' }]);
  expect(folded.outputs).toEqual([]);
  expect(folded.position.fence).toBe(0n);
});

test('a fault names its place in our sources and none of the values', () => {
  const fault = new Fault(new TypeError('secret text'));
  expect(JSON.stringify({ ...fault })).not.toContain('secret text');
  expect(fault.error).toBe('TypeError');
  expect(fault.where).toContain('shared/runtime/fold.test.ts');
  expect(fault.where).not.toMatch(/(^|\()\//);
});

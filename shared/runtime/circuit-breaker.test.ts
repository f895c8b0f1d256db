import { expect, test } from 'vitest';
import { type ErrorCode, errors } from '../errors.ts';
import { emit, reject } from '../stage/effects.ts';
import { type Ask, counted } from '../testing/counting-stage.ts';
import { type Breaker, isOurFault, watchRejects } from './circuit-breaker.ts';
import type { FoldedRecord } from './fold.ts';
import type { RecordHeader } from './header.ts';

const ids = { rootId: 'root', causeId: 'cause' };
const fromStage: RecordHeader = { ...ids, from: { topic: 'upstream', partition: 0, offset: 1n, effect: '0' } };
const redriven: RecordHeader = { ...ids, redrive: 'dead-letters/0/1' };

const closed: Breaker = { type: 'closed', inARow: 0 };
const ask: Ask = { type: 'count', key: 'a', emit: 1 };
const message = { id: 'm', rootId: 'm', at: 0, key: 'a', value: ask };
const good: FoldedRecord = {
  type: 'decided',
  message,
  effects: [emit(counted, { key: 'a', count: 1 }), reject('invalid_binding_filter', {}, { part: 'iris|odd' })],
  silent: false,
};
const bad = (offset: bigint, more: { readonly silent?: boolean; readonly ours?: boolean } = {}): FoldedRecord[] => {
  const { silent = false, ours = true } = more;
  return [
    { type: 'rejected', code: 'stage-fault', id: 'm', offset, silent, ours },
    { type: 'decided', message, effects: [reject('stage-fault')], silent },
  ];
};

test('a fault is ours where no webhook could have brought it about, and the record was not redriven', () => {
  const oursFor = (header: RecordHeader | undefined) =>
    (Object.keys(errors) as ErrorCode[]).filter((code) => isOurFault(code, header));
  expect(oursFor(undefined)).toEqual(['schema-unknown', 'stage-fault']);
  expect(oursFor(fromStage)).toEqual(['frame-invalid', 'schema-unknown', 'contract-violated', 'stage-fault']);
  expect(oursFor(redriven)).toEqual([]);
});

test('so many rejections in a row open it, at the record that makes the row full, over batches too', () => {
  const first = watchRejects(closed, [...bad(1n), ...bad(2n)], 3);
  expect(first).toEqual({ type: 'closed', inARow: 2 });
  expect(watchRejects(first, [...bad(3n), good], 3)).toEqual({
    type: 'open',
    inARow: 3,
    code: 'stage-fault',
    offset: 3n,
  });
});

test('one message that was decided ends the row, though a part of its work was rejected', () => {
  expect(watchRejects(closed, [...bad(1n), ...bad(2n), good, ...bad(3n)], 3)).toEqual({ type: 'closed', inARow: 1 });
});

test('what is folded again, repeats and faults of the records themselves neither count nor end the row', () => {
  const again: FoldedRecord = { type: 'decided', message, effects: [], silent: true };
  const between = [again, { type: 'repeat' as const }, ...bad(2n, { silent: true }), ...bad(3n, { ours: false })];
  expect(watchRejects(closed, [...bad(1n), ...between, ...bad(4n)], 3)).toEqual({ type: 'closed', inARow: 2 });
});

test('a limit of 0 never opens it', () => {
  const records = Array.from({ length: 1_000 }, (_, index) => bad(BigInt(index))).flat();
  expect(watchRejects(closed, records, 0)).toEqual({ type: 'closed', inARow: 1_000 });
});

import { describe, expect, test } from 'vitest';
import { type Connection, connections } from '../../schemas/connection.ts';
import { AdapterFailures, ConnectionState } from '../../schemas/connection-state.ts';
import type { Effect } from '../../shared/stage/index.ts';
import { afterFailure, afterSuccess } from './failures.ts';

const settings = { maxFacts: 1, maxAdapterFailures: 3, probeAfterMs: 60_000 };
const t0 = 1_929_952_900_000;
const octo = connections.example;

/** Partitions of the normalizer that see each other's findings at once, or not before they are told to. */
function world() {
  const rows = new Map<number, AdapterFailures>();
  let connection: Connection = octo;
  let state: ConnectionState | undefined;
  let coming: ConnectionState | undefined;
  let isBehind = false;
  const apply = (partition: number, effects: readonly Effect[]): readonly string[] =>
    effects.flatMap((effect) => {
      if (effect.do === 'put') rows.set(partition, AdapterFailures.parse(effect.value));
      else if (effect.do === 'remove') rows.delete(partition);
      else if (effect.do === 'emit') {
        coming = ConnectionState.parse(effect.value);
        if (!isBehind) state = coming;
        const { unavailableReason, since, until, failures } = coming;
        if (unavailableReason === null) return ['available'];
        return [`${failures} since +${since - t0} until +${until - t0}: ${unavailableReason}`];
      }
      return [];
    });
  const known = (partition: number, after: number) => ({
    connection,
    state,
    row: rows.get(partition),
    at: t0 + after,
  });
  return {
    rows,
    fail: (after: number, { partition = 0, code = 'payload-invalid' as const, limit = 3 } = {}) =>
      apply(partition, afterFailure(code, known(partition, after), { ...settings, maxAdapterFailures: limit })),
    succeed: (after: number, partition = 0) => apply(partition, afterSuccess(known(partition, after))),
    save(after: number) {
      connection = { ...connection, updatedAt: t0 + after };
    },
    fallBehind() {
      isBehind = true;
    },
    catchUp() {
      isBehind = false;
      state = coming;
    },
  };
}

const reason = (failures: number): string =>
  `${failures} deliveries in a row could not be read, the last one: payload-invalid, they are not what its provider documents`;

describe('the limit', () => {
  test('reached in a row makes the connection unavailable, once, with a reason', () => {
    const { fail } = world();
    expect([fail(0), fail(1), fail(2), fail(3), fail(4)]).toStrictEqual([
      [],
      [],
      [`3 since +2 until +60002: ${reason(3)}`],
      [],
      [],
    ]);
  });

  test('is not reached where one that could be read lies between', () => {
    const { fail, succeed, rows } = world();
    expect([fail(0), fail(1), succeed(2), fail(3), fail(4), succeed(5)].flat()).toStrictEqual([]);
    expect(rows.size).toBe(0);
  });

  test('of 0 counts nothing', () => {
    const { fail, rows } = world();
    for (let after = 0; after < 20; after++) expect(fail(after, { limit: 0 })).toStrictEqual([]);
    expect(rows.size).toBe(0);
  });

  test('is counted in each partition, and what one found is not told again by another', () => {
    const { fail } = world();
    for (const after of [0, 1]) for (const partition of [0, 1]) expect(fail(after, { partition })).toStrictEqual([]);
    expect(fail(2)).toHaveLength(1);
    expect(fail(3, { partition: 1 })).toStrictEqual([]);
  });

  test('counts from a save of the connection on: what failed before may be mended', () => {
    const { fail, save } = world();
    expect([fail(0), fail(1)].flat()).toStrictEqual([]);
    save(2);
    expect([fail(3), fail(4)].flat()).toStrictEqual([]);
    expect(fail(5)).toStrictEqual([`3 since +5 until +60005: ${reason(3)}`]);
  });
});

describe('an unavailable connection', () => {
  const broken = () => {
    const made = world();
    for (const after of [0, 1, 2]) made.fail(after);
    return made;
  };

  test('is tried when it is time, and unavailable anew after a failure then', () => {
    const { fail } = broken();
    expect(fail(60_001)).toStrictEqual([]);
    expect(fail(60_002)).toStrictEqual([`5 since +2 until +120002: ${reason(5)}`]);
    expect(fail(60_003)).toStrictEqual([]);
  });

  test('is available after the first delivery that could be read then, in whatever partition, and not before', () => {
    const { succeed } = broken();
    expect([succeed(60_001, 1), succeed(60_002, 1), succeed(60_003, 1)]).toStrictEqual([[], ['available'], []]);
  });

  test('is available once, and unavailable once, while what was told of it is still on its way', () => {
    const { fail, succeed, fallBehind, catchUp, rows } = world();
    fallBehind();
    expect([0, 1, 2, 3, 4].flatMap((after) => fail(after))).toHaveLength(1);
    catchUp();
    fallBehind();
    expect([0, 1, 2].flatMap((more) => succeed(70_000 + more))).toStrictEqual(['available']);
    catchUp();
    expect(succeed(70_003)).toStrictEqual([]);
    expect(rows.size).toBe(0);
  });

  test('counts anew once it is available, also where another partition found that', () => {
    const { fail, succeed } = broken();
    expect(succeed(60_002, 1)).toStrictEqual(['available']);
    expect([fail(60_003), fail(60_004)].flat()).toStrictEqual([]);
    expect(fail(60_005)).toStrictEqual([`3 since +60005 until +120005: ${reason(3)}`]);
  });

  test('is as new after a save', () => {
    const { fail, succeed, save } = broken();
    save(3);
    expect([succeed(4), fail(5), fail(60_006)].flat()).toStrictEqual([]);
    expect(fail(60_007)).toStrictEqual([`3 since +60007 until +120007: ${reason(3)}`]);
  });
});

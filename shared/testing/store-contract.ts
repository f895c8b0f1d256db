import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { RowWrite, Slot, SlotChanges, Store, StoredTimer } from '../runtime/store.ts';

const slow = { timeout: 30_000 };
const patience = { timeout: 10_000, interval: 10 };

/** Holds a store to the behaviour that the shell relies on. `connect` gives a new connection to the same store each time. */
export function storeContract(name: string, connect: () => Promise<Store>): void {
  const open: Store[] = [];
  const connected = async (): Promise<Store> => {
    const store = await connect();
    open.push(store);
    return store;
  };

  afterEach(async () => {
    await Promise.all(open.splice(0).map((store) => store.close()));
  });

  describe(`${name}: the store`, () => {
    test('says what it is and what time it has', slow, async () => {
      const store = await connected();
      const { version, at, usedBytes, maxBytes, ...rest } = await store.inspect();
      expect(rest).toEqual({
        evictionPolicy: 'noeviction',
        appendOnly: expect.any(Boolean),
        appendsWell: true,
      });
      expect(version).toMatch(/^\d+\.\d+\.\d+/);
      expect([at, usedBytes, maxBytes].every((number) => Number.isSafeInteger(number) && number >= 0)).toBe(true);
      const later = await store.inspect();
      expect(later.at).toBeGreaterThanOrEqual(at);
    });
  });

  describe(`${name}: positions`, () => {
    test('a slot that nothing was written to stands before the first record', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      expect(await store.open(slot)).toEqual({ fence: -1n, at: 0, watermarks: new Map() });
      expect(await store.fence(slot)).toBe(-1n);
      expect(await store.load(slot, ['entries:a'])).toEqual([undefined]);
      expect((await store.view(slot, { rows: [], timers: ['t'] })).timers).toEqual([undefined]);
      expect(await store.due(slot, Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    });

    test('a save moves the fence and is seen by every connection', slow, async () => {
      const [store, other] = [await connected(), await connected()];
      const slot = newSlot();
      expect(await store.save(slot, -1n, changes({ fence: 7n, at: 1_700_000_000_123 }))).toEqual({ type: 'saved' });
      expect(await other.open(slot)).toEqual({ fence: 7n, at: 1_700_000_000_123, watermarks: new Map() });
      expect(await other.fence(slot)).toBe(7n);
      expect(await other.save(slot, 7n, changes({ fence: 9_000_000_000n, at: 1_700_000_000_124 }))).toEqual({
        type: 'saved',
      });
      expect(await store.fence(slot)).toBe(9_000_000_000n);
    });

    test('a save that expects another fence is told which one it is, and writes nothing', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const attempt = changes({
        fence: 11n,
        at: 11,
        watermarks: new Map([['in/0', { offset: 11n, effects: ['0'] }]]),
        rows: [{ row: 'entries:a', json: '"lost"' }],
        timers: [{ set: timer('t', 11) }],
      });
      expect(await store.save(slot, 4n, attempt)).toEqual({ type: 'behind', fence: -1n });
      await store.save(slot, -1n, changes({ fence: 9n, at: 9 }));
      expect(await store.save(slot, 10n, attempt)).toEqual({ type: 'behind', fence: 9n });
      expect(await store.save(slot, 8n, attempt)).toEqual({ type: 'ahead', fence: 9n });
      expect(await store.save(slot, -1n, attempt)).toEqual({ type: 'ahead', fence: 9n });
      expect(await store.open(slot)).toEqual({ fence: 9n, at: 9, watermarks: new Map() });
      expect(await store.load(slot, ['entries:a'])).toEqual([undefined]);
      expect((await store.view(slot, { rows: [], timers: ['t'] })).timers).toEqual([undefined]);
    });

    test('of savers that expect the same fence one wins', slow, async () => {
      const [store, other] = [await connected(), await connected()];
      const slot = newSlot();
      const saves = await Promise.all(
        [store, other, store, other].map((each, index) =>
          each.save(slot, -1n, changes({ fence: 3n, at: 3, rows: [{ row: `winner:${index}`, json: '1' }] })),
        ),
      );
      expect(saves.filter((save) => save.type === 'saved')).toHaveLength(1);
      expect(saves.filter((save) => save.type === 'ahead')).toHaveLength(3);
      const rows = await store.load(slot, ['winner:0', 'winner:1', 'winner:2', 'winner:3']);
      expect(rows.map((row) => row !== undefined)).toEqual(saves.map((save) => save.type === 'saved'));
    });

    test('watermarks are kept by source; a later one replaces an earlier one', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const first = { offset: 40n, effects: ['0', '1'] };
      const second = { offset: 12n, effects: ['iris|desk: a "rule"', 'ż/2'] };
      await store.save(slot, -1n, changes({ fence: 1n, at: 1, watermarks: new Map([['raw/0', first]]) }));
      await store.save(slot, 1n, changes({ fence: 2n, at: 2, watermarks: new Map([['raw/11', second]]) }));
      expect((await store.open(slot)).watermarks).toEqual(
        new Map([
          ['raw/0', first],
          ['raw/11', second],
        ]),
      );
      const later = { offset: 41n, effects: ['0'] };
      await store.save(slot, 2n, changes({ fence: 3n, at: 3, watermarks: new Map([['raw/0', later]]) }));
      expect((await store.open(slot)).watermarks).toEqual(
        new Map([
          ['raw/0', later],
          ['raw/11', second],
        ]),
      );
    });

    test('slots of other stages, partitions and generations are independent', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const others: readonly Slot[] = [
        { ...slot, stage: `${slot.stage}-2` },
        { ...slot, partition: 2 },
        { ...slot, generation: 2 },
      ];
      const written = changes({
        fence: 5n,
        at: 5,
        watermarks: new Map([['raw/0', { offset: 5n, effects: ['0'] }]]),
        rows: [{ row: 'entries:a', json: '1' }],
        timers: [{ set: timer('t', 1) }],
      });
      await store.save(slot, -1n, written);
      for (const other of others) {
        expect(await store.open(other)).toEqual({ fence: -1n, at: 0, watermarks: new Map() });
        expect((await store.view(other, { rows: ['entries:a'], timers: ['t'] })).rows).toEqual([undefined]);
        expect(await store.due(other, 1_000, 10)).toEqual([]);
      }
    });

    test('a store in order passes its check', slow, async () => {
      const store = await connected();
      expect(await store.check()).toBeUndefined();
    });
  });

  describe(`${name}: generations`, () => {
    const first = { inUse: 1, draft: undefined, previous: undefined, newest: 1 };
    const rowAt = (fence: bigint, json: string): SlotChanges => rowsAt(fence, [{ row: 'entries:a', json }]);
    const saved = { type: 'saved' };
    const retired = { type: 'retired' };

    test('the first one is in use at first, and no step applies but a beginning', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      expect(await store.generations(slot)).toEqual(first);
      expect(await store.generations(slot, { do: 'adopt', generation: 2 })).toEqual(first);
      expect(await store.generations(slot, { do: 'abandon', generation: 2 })).toEqual(first);
      expect(await store.generations(slot, { do: 'conclude' })).toEqual(first);
      expect(await store.generations(slot, { do: 'begin', generation: 1 })).toEqual(first);
      expect(await store.save(slot, -1n, rowAt(1n, '1'))).toEqual(saved);
    });

    test('a draft is written beside the one in use, and only as a draft', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const draft: Slot = { ...slot, generation: 2, draft: true };
      expect(await store.save(draft, -1n, rowAt(1n, '0'))).toEqual(retired);
      expect(await store.fence(draft)).toBeUndefined();
      const begun = { ...first, draft: 2, newest: 2 };
      expect(await store.generations(slot, { do: 'begin', generation: 2 })).toEqual(begun);
      expect(await store.generations(slot, { do: 'begin', generation: 3 })).toEqual(begun);
      expect(await store.save(slot, -1n, rowAt(5n, '"live"'))).toEqual(saved);
      expect(await store.save(draft, -1n, rowAt(3n, '"draft"'))).toEqual(saved);
      expect(await store.save({ ...slot, generation: 2 }, 3n, rowAt(4n, '"owner"'))).toEqual(retired);
      expect(await store.save({ ...slot, draft: true }, 5n, rowAt(6n, '"draft"'))).toEqual(retired);
      expect([await store.fence(slot), await store.fence(draft)]).toEqual([5n, 3n]);
      expect(await store.load(slot, ['entries:a'])).toEqual(['"live"']);
    });

    test(
      'adopted, it alone is written, and readers see it once it has reached where the other ended',
      slow,
      async () => {
        const [store, other] = [await connected(), await connected()];
        const slot = newSlot();
        const next: Slot = { ...slot, generation: 2 };
        await store.generations(slot, { do: 'begin', generation: 2 });
        await store.save(slot, -1n, rowAt(10n, '"old"'));
        await store.save({ ...next, draft: true }, -1n, rowAt(9n, '"behind"'));
        const adopted = { inUse: 2, draft: undefined, previous: { generation: 1, fence: 10n }, newest: 2 };
        expect(await other.generations(slot, { do: 'adopt', generation: 2 })).toEqual(adopted);
        expect(await other.generations(slot, { do: 'adopt', generation: 2 })).toEqual(adopted);

        expect(await store.save(slot, 10n, rowAt(11n, '"late"'))).toEqual(retired);
        expect(await store.save({ ...next, draft: true }, 9n, rowAt(10n, '"late"'))).toEqual(retired);
        expect(await store.fence(slot)).toBeUndefined();
        expect(await store.load(slot, ['entries:none', 'entries:a'])).toEqual([undefined, '"old"']);
        expect(await store.generations(slot, { do: 'conclude' })).toEqual(adopted);
        expect(await store.generations(slot, { do: 'begin', generation: 3 })).toEqual(adopted);

        expect(await store.save(next, 9n, rowAt(10n, '"new"'))).toEqual(saved);
        expect(await store.load(slot, ['entries:none', 'entries:a'])).toEqual([undefined, '"new"']);
        const concluded = { ...adopted, previous: undefined };
        expect(await store.generations(slot, { do: 'conclude' })).toEqual(concluded);
        expect(await store.load(slot, ['entries:a'])).toEqual(['"new"']);
        expect(await store.generations(slot, { do: 'begin', generation: 2 })).toEqual(concluded);
        expect(await store.generations(slot, { do: 'begin', generation: 3 })).toEqual({
          ...concluded,
          draft: 3,
          newest: 3,
        });
      },
    );

    test('an abandoned draft is written no more, and its number is not given again', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const draft: Slot = { ...slot, generation: 2, draft: true };
      await store.generations(slot, { do: 'begin', generation: 2 });
      await store.save(draft, -1n, rowAt(3n, '1'));
      expect(await store.generations(slot, { do: 'abandon', generation: 3 })).toEqual({
        ...first,
        draft: 2,
        newest: 2,
      });
      expect(await store.generations(slot, { do: 'abandon', generation: 2 })).toEqual({ ...first, newest: 2 });
      expect(await store.save(draft, 3n, rowAt(4n, '1'))).toEqual(retired);
      expect(await store.generations(slot, { do: 'begin', generation: 2 })).toEqual({ ...first, newest: 2 });
    });

    test('only generations that nobody uses or reads are discarded, and of that stage alone', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const elsewhere: Slot = { ...slot, partition: 0 };
      const neighbour: Slot = { ...slot, stage: `${slot.stage}-2` };
      const state = { stage: slot.stage, partitions: 2 };
      const rows = Array.from({ length: 1_200 }, (_, index) => ({ row: `entries:${index}`, json: '1' }));
      await store.save(slot, -1n, { ...rowsAt(7n, rows), timers: [{ set: timer('t', 5) }] });
      for (const each of [elsewhere, neighbour]) await store.save(each, -1n, rowAt(7n, '1'));
      const next: Slot = { ...slot, generation: 2 };
      await store.generations(slot, { do: 'begin', generation: 2 });
      await store.save({ ...next, draft: true }, -1n, rowAt(6n, '2'));
      expect(await store.discard(state)).toBe(0);
      await store.generations(slot, { do: 'adopt', generation: 2 });
      expect(await store.discard(state)).toBe(0);
      expect(await store.load(slot, ['entries:1199'])).toEqual(['1']);

      await store.save(next, 6n, rowAt(7n, '3'));
      await store.generations(slot, { do: 'conclude' });
      expect(await store.discard(state)).toBeGreaterThan(1_200);
      expect(await store.discard(state)).toBe(0);
      expect(await store.open(slot)).toEqual({ fence: -1n, at: 0, watermarks: new Map() });
      const left = await store.view(slot, { rows: ['entries:0', 'entries:1199'], timers: ['t'] });
      expect(left).toEqual({ fence: -1n, rows: [undefined, undefined], timers: [undefined] });
      expect(await store.due(slot, 10, 10)).toEqual([]);
      for (const each of [slot, elsewhere, neighbour]) {
        expect(await store.load(each, ['entries:a'])).toEqual([each === slot ? '3' : '1']);
      }
    });
  });

  describe(`${name}: rows`, () => {
    test('rows are set, replaced and removed, and load in the order asked for', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const text = JSON.stringify({ text: 'zażółć "gęślą"\njaźń', '': null });
      await store.save(
        slot,
        -1n,
        rowsAt(1n, [
          { row: 'entries:a', json: '1' },
          { row: 'entries:b|{c}:d', json: text },
          { row: 'channels:a', json: '"other projection"' },
        ]),
      );
      const rows = ['entries:none', 'entries:b|{c}:d', 'entries:a', 'channels:a', 'entries:a'];
      expect(await store.load(slot, rows)).toEqual([undefined, text, '1', '"other projection"', '1']);
      await store.save(
        slot,
        1n,
        rowsAt(2n, [
          { row: 'entries:a', json: '2' },
          { row: 'channels:a', json: undefined },
          { row: 'entries:none', json: undefined },
        ]),
      );
      expect(await store.load(slot, rows)).toEqual([undefined, text, '2', undefined, '2']);
      expect(await store.load(slot, [])).toEqual([]);
    });

    test('a row is gone after its lifetime; writing it again gives it another', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      await store.save(
        slot,
        -1n,
        rowsAt(1n, [
          { row: 'entries:brief', json: '1', lifetimeMs: 300 },
          { row: 'entries:kept', json: '1', lifetimeMs: 300 },
          { row: 'entries:long', json: '1', lifetimeMs: 7_776_000_000 },
        ]),
      );
      await store.save(slot, 1n, rowsAt(2n, [{ row: 'entries:kept', json: '2' }]));
      await store.save(slot, 2n, rowsAt(3n, [{ row: 'entries:later', json: '3', lifetimeMs: 300 }]));
      const rows = ['entries:brief', 'entries:kept', 'entries:long', 'entries:later'];
      await vi.waitFor(async () => {
        expect(await store.load(slot, rows)).toEqual([undefined, '2', '1', undefined]);
      }, patience);
      expect(await store.fence(slot)).toBe(3n);
    });

    test('a view has rows, timers and the fence of one moment', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      expect(await store.view(slot, { rows: ['entries:a'], timers: ['t'] })).toEqual({
        fence: -1n,
        rows: [undefined],
        timers: [undefined],
      });
      const write = { ...rowsAt(7n, [{ row: 'entries:a', json: '1' }]), timers: [{ set: timer('t', 5) }] };
      expect(await store.save(slot, -1n, write)).toEqual({ type: 'saved' });
      expect(await store.view(slot, { rows: ['entries:none', 'entries:a'], timers: ['t', 'u'] })).toEqual({
        fence: 7n,
        rows: [undefined, '1'],
        timers: [timer('t', 5), undefined],
      });
    });

    test('a batch of two thousand rows and five hundred timers is one save', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const rows = Array.from({ length: 2_000 }, (_, index) => `entries:${index}`);
      const timers = Array.from({ length: 500 }, (_, index) => timer(`t${index}`, 1_000 + index));
      const saved = await store.save(slot, -1n, {
        ...rowsAt(
          1_999n,
          rows.map((row, index) => ({ row, json: JSON.stringify({ index, text: 'x'.repeat(200) }) })),
        ),
        timers: timers.map((set) => ({ set })),
      });
      expect(saved).toEqual({ type: 'saved' });
      const loaded = await store.load(slot, rows);
      expect(loaded.map((json) => JSON.parse(json ?? 'null').index)).toEqual(rows.map((_, index) => index));
      expect(await store.due(slot, 1_099, 1_000)).toEqual(timers.slice(0, 100));
      const keys = timers.map((each) => each.key);
      expect((await store.view(slot, { rows: [], timers: keys })).timers).toEqual(timers);
    });
  });

  describe(`${name}: timers`, () => {
    test('due timers come earliest first, up to the instant and the limit', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      const at = 1_700_000_000_000;
      const [early, middle, late] = [timer('b', at + 1), timer('c', at + 20), timer('a', at + 300)];
      await store.save(slot, -1n, timersAt(1n, [{ set: late }, { set: early }, { set: middle }]));
      expect(await store.due(slot, at, 10)).toEqual([]);
      expect(await store.due(slot, at + 1, 10)).toEqual([early]);
      expect(await store.due(slot, at + 300, 10)).toEqual([early, middle, late]);
      expect(await store.due(slot, at + 300, 2)).toEqual([early, middle]);
      expect(await store.due(slot, at + 300, 10)).toEqual([early, middle, late]);
      expect((await store.view(slot, { rows: [], timers: ['a', 'none', 'b'] })).timers).toEqual([
        late,
        undefined,
        early,
      ]);
    });

    test('a timer is replaced by one of the same key, and cleared', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      await store.save(slot, -1n, timersAt(1n, [{ set: timer('a', 100) }, { set: timer('b', 200) }]));
      const moved: StoredTimer = { key: 'a', id: 'other/0.a', dueAt: 500, json: '{"text":"ż"}' };
      await store.save(slot, 1n, timersAt(2n, [{ set: moved }, { clear: 'none' }]));
      expect(await store.due(slot, 1_000, 10)).toEqual([timer('b', 200), moved]);
      await store.save(slot, 2n, timersAt(3n, [{ clear: 'b' }]));
      expect(await store.due(slot, 1_000, 10)).toEqual([moved]);
      expect((await store.view(slot, { rows: [], timers: ['b', 'a'] })).timers).toEqual([undefined, moved]);
    });

    test('changes of one timer within a save apply in their order', slow, async () => {
      const store = await connected();
      const slot = newSlot();
      await store.save(
        slot,
        -1n,
        timersAt(1n, [{ set: timer('a', 1) }, { clear: 'a' }, { clear: 'b' }, { set: timer('b', 2) }]),
      );
      expect(await store.due(slot, 10, 10)).toEqual([timer('b', 2)]);
    });
  });
}

const newSlot = (): Slot => ({ stage: `contract-${randomUUID()}`, partition: 1, generation: 1 });

const changes = (some: Partial<SlotChanges> & Pick<SlotChanges, 'fence' | 'at'>): SlotChanges => ({
  watermarks: new Map(),
  rows: [],
  timers: [],
  ...some,
});

const rowsAt = (fence: bigint, rows: readonly RowWrite[]): SlotChanges => changes({ fence, at: Number(fence), rows });

const timersAt = (fence: bigint, timers: SlotChanges['timers']): SlotChanges =>
  changes({ fence, at: Number(fence), timers });

const timer = (key: string, dueAt: number): StoredTimer => ({
  key,
  id: `accepted-facts/0/${dueAt}.${key}`,
  dueAt,
  json: JSON.stringify({ type: 'timer.due', key }),
});

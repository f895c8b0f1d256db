import { describe, expect, test } from 'vitest';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { later } from '../stage/effects.ts';
import type { AnyStage } from '../stage/stage.ts';
import { type Ask, counted, counting } from '../testing/counting-stage.ts';
import { countingWorld, runtimeWith } from '../testing/counting-world.ts';
import { runUntil, settle } from '../testing/settle.ts';
import type { IncomingRecord } from './bus.ts';
import type { Codec } from './codec.ts';
import type { FoldedRecord } from './fold.ts';
import { unavailable } from './memory/faults.ts';
import { allGuards, openPartition, type PartitionContext } from './partition-owner.ts';
import type { RuntimeSettings } from './runtime-settings.ts';
import type { Store } from './store.ts';

const count = (key: string, emit = 0): Ask => ({ type: 'count', key, emit });
const remind = (key: string, inMs: number): Ask => ({ type: 'remind', key, inMs });
/** Counts as `counted` has them: `a2` is the second of `a`. */
const counts = (...texts: readonly string[]) => texts.map((text) => ({ key: text[0], count: Number(text.slice(1)) }));
const bytesOf = (record: IncomingRecord): number => (record.key?.length ?? 0) + (record.value?.length ?? 0) + 90;

/** One partition of the counting stage in memory, opened as often as wanted. */
async function partition(runtime: Partial<RuntimeSettings> = {}) {
  const world = await countingWorld({ runtime });
  const { simulation } = world;
  const mine = await world.start();
  const folded: FoldedRecord[] = [];
  const called: string[] = [];
  const loaded: string[] = [];

  const contextWith = (more: Partial<PartitionContext>): PartitionContext => ({
    stage: counting,
    settings: {},
    tables: {},
    ...mine,
    runtime: runtimeWith(runtime),
    partitionsOf: () => 1,
    guards: allGuards,
    onFolded: (records) => void folded.push(...records),
    async onCalls(_, calls) {
      world.log.push(`calls ${calls.map(({ id }) => id).join(' ')}`);
      called.push(...calls.map(({ id }) => id));
    },
    ...more,
    store: {
      ...(more.store ?? mine.store),
      view(slot, wanted) {
        loaded.push(...wanted.rows);
        return (more.store ?? mine.store).view(slot, wanted);
      },
    },
  });

  return {
    ...world,
    ...mine,
    folded,
    called,
    /** The rows that were read from the store since this was last asked. */
    loaded: () => loaded.splice(0).toSorted(),
    async open(more: Partial<PartitionContext> & { readonly committed?: bigint; readonly start?: bigint } = {}) {
      const { committed = 0n, start = 0n, ...context } = more;
      const opening = openPartition(contextWith(context), world.slot(), { committed, start });
      const open = await settle(simulation, opening);
      return {
        ...open,
        /** Handles what the topic holds from an offset on. */
        handle: (from = 0n) => settle(simulation, open.handle(world.asked().filter((record) => record.offset >= from))),
        fireTimers: () => settle(simulation, open.fireTimers()),
        checkFence: () => settle(simulation, open.checkFence()),
        raw: open,
      };
    },
    /** Lets virtual time go on. */
    pass: (ms: number) => settle(simulation, mine.clock.sleep(ms)),
  };
}

describe('opening', () => {
  test('begins at the first kept record where nothing was applied, and behind the fence where something was', async () => {
    const world = await partition();
    await world.ask(count('a'), count('a'), count('b'));
    const first = await world.open();
    expect([first.next(), first.committable()]).toEqual([0n, 0n]);
    expect(await first.handle()).toBe('handled');
    expect([first.next(), first.committable(), world.counts()]).toEqual([3n, 3n, { a: 2, b: 1 }]);

    const second = await world.open();
    expect(second.next()).toBe(3n);
    expect([await second.handle(), world.counts()]).toEqual(['handled', { a: 2, b: 1 }]);
    expect((await partition().then((empty) => empty.open({ start: 7n }))).next()).toBe(7n);
  });

  test('never takes back what the group has committed, although it reads from further below', async () => {
    const world = await partition();
    await world.ask(count('a'), count('a'), count('a'));
    const open = await world.open({ committed: 2n });
    expect([open.next(), open.committable()]).toEqual([0n, 2n]);
    await open.handle();
    expect([open.next(), open.committable()]).toEqual([3n, 3n]);
  });

  test('is refused where records that the state needs have left the topic', async () => {
    const world = await partition();
    await world.ask(count('a'), count('a'));
    await (await world.open()).handle();
    expect((await world.open({ start: 2n })).next()).toBe(2n);
    await expect(world.open({ start: 3n })).rejects.toMatchObject({
      code: 'offset-gap',
      details: { topic: 'asks', partition: 0, needed: '2', kept: '3' },
    });
  });

  test('is refused where the state is lost, and records that nobody handled have left the topic', async () => {
    const world = await partition();
    await world.ask(count('a'), count('a'), count('a'));
    await expect(world.open({ committed: 1n, start: 2n })).rejects.toMatchObject({
      code: 'offset-gap',
      details: { topic: 'asks', partition: 0, needed: '1', kept: '2' },
    });
  });

  test('says whether the state was lost and begins later than it did', async () => {
    const world = await partition();
    await world.ask(count('a'), count('a'), count('a'));
    const places = [{ committed: 3n, start: 1n }, { committed: 1n, start: 1n }, { start: 1n }, { committed: 3n }];
    const found = [];
    for (const place of places) {
      const open = await world.open(place);
      found.push([open.next(), open.isTruncated]);
    }
    expect(found).toEqual([
      [1n, true],
      [1n, false],
      [1n, false],
      [0n, false],
    ]);
    await (await world.open({ committed: 3n, start: 1n })).handle();
    expect((await world.open({ committed: 3n, start: 1n })).isTruncated).toBe(false);
  });

  test('waits for a store that is away', async () => {
    const world = await partition();
    let tries = 0;
    const store: Store = {
      ...world.store,
      async open(slot) {
        const position = await world.store.open(slot);
        if (++tries < 4) throw unavailable('as the test wants it');
        return position;
      },
    };
    expect((await world.open({ store })).next()).toBe(0n);
    expect(tries).toBe(4);
  });
});

describe('a batch', () => {
  test('is sent, then saved, and only then its calls are handed on', async () => {
    const world = await partition();
    await world.ask(count('a', 1), { type: 'call', key: 'b' });
    await (await world.open()).handle();
    expect(world.log.slice(-3)).toEqual(['produce counted', 'save 1', 'calls asks/0/1.1']);
  });

  test('is cut by count', async () => {
    const world = await partition({ batchRecords: 2 });
    await world.ask(...Array.from({ length: 5 }, () => count('a', 1)));
    await (await world.open()).handle();
    expect(world.log.filter((line) => line.startsWith('save'))).toEqual(['save 1', 'save 3', 'save 4']);
    expect(world.values(counted).map((value) => value.count)).toEqual([1, 2, 3, 4, 5]);
  });

  test('is cut by bytes, and a record over the bound is a batch of its own', async () => {
    const small = count('a');
    const big = count('x'.repeat(2_000));
    const sized = await partition();
    await sized.ask(small);
    const batchBytes = 2 * sized.asked().reduce((sum, record) => sum + bytesOf(record), 0);
    const world = await partition({ batchBytes });
    await world.ask(small, small, small, big, small, small);
    await (await world.open()).handle();
    expect(world.log.filter((line) => line.startsWith('save'))).toEqual(['save 1', 'save 2', 'save 3', 'save 5']);
  });

  test('that was handled before changes nothing, wholly or in part', async () => {
    const world = await partition();
    await world.ask(count('a', 1), count('a', 1));
    const open = await world.open();
    await open.handle();
    await open.handle();
    await world.ask(count('a', 1));
    await open.handle(1n);
    expect(world.values(counted).map((value) => value.count)).toEqual([1, 2, 3]);
  });

  test('loads each row once, and again only when the cache has let go of it', async () => {
    const world = await partition({ cacheRows: 2, batchRecords: 4 });
    const rows = (...keys: readonly string[]) => keys.map((key) => `counts:${key}`);
    const open = await world.open();
    const handleNext = async (...keys: readonly string[]) => {
      const from = BigInt(world.asked().length);
      await world.ask(...keys.map((key) => count(key)));
      await open.handle(from);
      return world.loaded();
    };
    expect(await handleNext('a', 'b', 'a')).toEqual(rows('a', 'b'));
    expect(await handleNext('b', 'a')).toEqual([]);
    expect(await handleNext('c')).toEqual(rows('c'));
    // The oldest was let go: `b` was written before `a`.
    expect(await handleNext('a')).toEqual([]);
    expect(await handleNext('b')).toEqual(rows('b'));
    expect(world.counts()).toEqual({ a: 4, b: 3, c: 1 });
  });

  test('of which the group has committed all is folded silently: no sends, no calls, the same state', async () => {
    const world = await partition();
    await world.ask(count('a', 1), remind('a', 60_000), { type: 'call', key: 'b' }, { type: 'reject', key: 'a' });
    const open = await world.open({ committed: 4n });
    await open.handle();
    expect([world.values(counted), world.values(deadLetters), world.called]).toEqual([[], [], []]);
    expect([world.counts(), [...world.simulation.timers(world.slot()).keys()]]).toEqual([
      { a: 1, b: 1 },
      ['reminder:a'],
    ]);
    expect(world.folded.map((each) => ('silent' in each ? each.silent : 'none'))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
  });
});

describe('a store that does not stand where it was left', () => {
  test('behind: it lost writes. Nothing is saved, and opened again everything is made up for, without a second effect', async () => {
    const world = await partition();
    await world.ask(count('a', 1), count('a', 1));
    const open = await world.open();
    await open.handle();
    world.simulation.forget(Number.POSITIVE_INFINITY);
    await world.ask(count('b', 1));
    expect(await open.handle(2n)).toBe('reopen');
    expect([world.counts(), open.next(), world.values(counted)]).toEqual([{}, 2n, counts('a1', 'a2')]);

    const again = await world.open({ committed: 2n });
    expect([again.next(), await again.handle()]).toEqual([0n, 'handled']);
    expect([world.counts(), world.values(counted)]).toEqual([{ a: 2, b: 1 }, counts('a1', 'a2', 'b1')]);
  });

  test('behind, found out by the save alone where all rows were remembered: what was sent is sent again, and known by its origin', async () => {
    const world = await partition();
    await world.ask(count('a', 1));
    const open = await world.open();
    await open.handle();
    world.simulation.forget(1);
    await world.ask(count('a', 1));
    expect(await open.handle(1n)).toBe('reopen');
    await (await world.open({ committed: 1n })).handle();
    const origins = world.simulation.records('counted')[0]?.map(({ header }) => /f=(\S+)/.exec(header ?? '')?.[1]);
    expect(origins).toEqual(['asks/0/0/1', 'asks/0/1/1', 'asks/0/1/1']);
    expect(world.counts()).toEqual({ a: 2 });
  });

  test('ahead: another owner was here. The late one sends nothing that needs a row, saves nothing and stops', async () => {
    const world = await partition();
    const late = await world.open();
    await world.ask(count('a', 1), count('a', 1));
    await (await world.open()).handle();
    expect(await late.handle()).toBe('reopen');
    expect([world.counts(), world.values(counted).length, late.next()]).toEqual([{ a: 2 }, 2, 0n]);
  });

  test('is noticed by an idle owner that compares', async () => {
    const world = await partition();
    await world.ask(count('a'));
    const open = await world.open();
    await open.handle();
    expect(await open.checkFence()).toBe('handled');
    world.simulation.forget(1);
    expect(await open.checkFence()).toBe('reopen');
  });

  test.each(['before', 'after'] as const)(
    'is not suspected where a batch is saved while it is asked, and it answers what was there %s',
    async (when) => {
      const world = await partition();
      const gate = Promise.withResolvers<void>();
      const store: Store = {
        ...world.store,
        async fence(slot) {
          if (when === 'after') await gate.promise;
          const fence = await world.store.fence(slot);
          await gate.promise;
          return fence;
        },
      };
      await world.ask(count('a'));
      const open = await world.open({ store });
      const checking = open.raw.checkFence();
      await open.handle();
      gate.resolve();
      expect(await settle(world.simulation, checking)).toBe('handled');
    },
  );

  test('is not suspected where a batch is saved by the time it answers, and the answer to the save is still to come', async () => {
    const world = await partition();
    const [saved, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const store: Store = {
      ...world.store,
      async save(...wanted) {
        const result = await world.store.save(...wanted);
        saved.resolve();
        await answered.promise;
        return result;
      },
    };
    await world.ask(count('a'));
    const open = await world.open({ store });
    const handling = open.raw.handle(world.asked());
    await settle(world.simulation, saved.promise);
    expect(await open.checkFence()).toBe('handled');
    answered.resolve();
    expect(await settle(world.simulation, handling)).toBe('handled');
    expect(world.counts()).toEqual({ a: 1 });
  });

  test('comparing counts as work: an owner that has just compared is not idle', async () => {
    const world = await partition();
    const open = await world.open();
    const opened = open.idleSince();
    await world.pass(1_000);
    await open.checkFence();
    expect(open.idleSince() - opened).toBeGreaterThanOrEqual(1_000);
  });
});

describe('a stage that would reject all that comes', () => {
  const fault: Ask = { type: 'throw', key: 'a' };
  const letters = (world: Awaited<ReturnType<typeof partition>>) =>
    world.values(deadLetters).map(({ offset }) => offset);
  const failure = { code: 'too-many-rejects', details: { record: 'asks/0/3', code: 'stage-fault', inARow: 3 } };

  test('stops before the batch that makes the row full is sent, and leaves everything as it was before that batch', async () => {
    const world = await partition({ rejectsInARow: 3, batchRecords: 3 });
    await world.ask(count('a', 1), fault, fault, fault, count('b', 1));
    const open = await world.open();
    await expect(open.handle()).rejects.toMatchObject(failure);
    expect([open.next(), world.counts(), letters(world)]).toEqual([3n, { a: 1 }, ['1', '2']]);
    expect(world.log.filter((line) => line.startsWith('save'))).toEqual(['save 2']);
  });

  test('goes on where it stopped once the cause is mended, and nothing is lost or done twice', async () => {
    const world = await partition({ rejectsInARow: 3 });
    await world.ask(count('a', 1), fault, fault, fault, count('b', 1));
    await expect((await world.open()).handle()).rejects.toMatchObject(failure);
    expect([letters(world), world.values(counted)]).toEqual([[], []]);
    const base: AnyStage = counting;
    const mended: AnyStage = {
      ...base,
      decide: (view, message, settings) => (message.value.type === 'throw' ? [] : base.decide(view, message, settings)),
    };
    expect(await (await world.open({ stage: mended })).handle()).toBe('handled');
    expect([letters(world), world.values(counted)]).toEqual([[], counts('a1', 'b1')]);
  });

  test('is not stopped by what it folds again, nor where it is told never to stop', async () => {
    const world = await partition({ rejectsInARow: 3 });
    await world.ask(fault, fault, fault, fault);
    expect(await (await world.open({ committed: 4n })).handle()).toBe('handled');
    expect(letters(world)).toEqual([]);

    const never = await partition({ rejectsInARow: 0 });
    await never.ask(fault, fault, fault, fault);
    expect(await (await never.open()).handle()).toBe('handled');
    expect(letters(never)).toEqual(['0', '1', '2', '3']);
  });
});

describe('timers', () => {
  test('are sent once when they are due, and again when their record was not seen for long, each time later', async () => {
    const world = await partition({ timerRepeatMs: 1_000 });
    await world.ask(remind('a', 500), remind('b', 90_000));
    const open = await world.open();
    await open.handle();
    await open.fireTimers();
    expect(world.asked()).toHaveLength(2);

    await world.pass(600);
    await open.fireTimers();
    await open.fireTimers();
    expect(world.asked()).toHaveLength(3);
    await world.pass(1_100);
    await open.fireTimers();
    await open.fireTimers();
    expect(world.asked()).toHaveLength(4);
    await world.pass(1_100);
    await open.fireTimers();
    expect(world.asked()).toHaveLength(4);
    await world.pass(1_000);
    await open.fireTimers();
    await open.fireTimers();
    expect(world.asked()).toHaveLength(5);

    await open.handle(2n);
    await world.pass(5_000);
    await open.fireTimers();
    expect(world.asked()).toHaveLength(5);
    expect(world.values(counted)).toEqual([{ key: 'a', count: 1 }]);
    expect(world.folded.map(({ type }) => type)).toEqual(['decided', 'decided', 'decided', 'repeat', 'repeat']);
    expect([...world.simulation.timers(world.slot()).keys()]).toEqual(['reminder:b']);
  });

  test('come back with the origin of what set them', async () => {
    const world = await partition();
    await world.askWith({ rootId: 'root', causeId: 'cause' }, remind('a', 10));
    const open = await world.open();
    await open.handle();
    await world.pass(20);
    await open.fireTimers();
    expect(world.asked()[1]?.header).toBe('1 root cause t=reminder:a ti=cause.0');
    expect(String(world.asked()[1]?.key)).toBe('a');
  });

  test('that were set before this owner came are sent by it', async () => {
    const world = await partition();
    await world.ask(remind('a', 100), remind('b', 200));
    await (await world.open()).handle();
    const open = await world.open();
    await world.pass(300);
    await open.fireTimers();
    expect(
      world
        .asked()
        .slice(2)
        .map(({ key }) => String(key)),
    ).toEqual(['a', 'b']);
  });

  test.each([
    { owner: 'dies between due and sent', sends: false, guards: allGuards, counts: [1] },
    { owner: 'dies between sent and applied', sends: true, guards: allGuards, counts: [1] },
    {
      owner: 'dies between sent and applied, with timers not known by their ids,',
      sends: true,
      guards: { ...allGuards, timers: false },
      counts: [1, 2],
    },
  ])('whose owner $owner take effect $counts', async ({ sends, guards, counts }) => {
    const world = await partition();
    await world.ask(remind('a', 100));
    const first = await world.open();
    await first.handle();
    await world.pass(300);
    if (sends) await first.fireTimers();
    // It dies here. The next one cannot know what lies in the topic before it reads it.
    const second = await world.open({ guards });
    await second.fireTimers();
    expect(world.asked().slice(1)).toHaveLength(sends ? 2 : 1);
    await second.handle();
    expect(world.values(counted).map(({ count }) => count)).toEqual(counts);
    expect([...world.simulation.timers(world.slot()).keys()]).toEqual([]);
  });

  test('are not sent while lost state is folded again: most of them fired before, and their records lie ahead', async () => {
    const world = await partition({ batchRecords: 1 });
    await world.ask(remind('a', 100), remind('b', 100));
    const first = await world.open();
    await first.handle();
    await world.pass(300);
    await first.fireTimers();
    await first.handle(2n);
    await world.ask(remind('c', 100));
    await first.handle(4n);
    expect(world.asked()).toHaveLength(5);
    world.simulation.forget(Number.POSITIVE_INFINITY);
    await world.pass(300);

    const second = await world.open({ committed: 5n });
    for (const record of world.asked()) {
      await second.fireTimers();
      expect(world.asked()).toHaveLength(5);
      await settle(world.simulation, second.raw.handle([record]));
    }
    await second.fireTimers();
    expect(
      world
        .asked()
        .slice(5)
        .map(({ key }) => String(key)),
    ).toEqual(['c']);
  });

  test('are all sent in the end, however many are due at once', async () => {
    const world = await partition({ dueTimers: 2 });
    const keys = ['a', 'b', 'c', 'd', 'e'];
    await world.ask(...keys.map((key) => remind(key, 10)));
    const open = await world.open();
    await open.handle();
    await world.pass(50);
    for (const sent of [2, 4, 5, 5]) {
      await open.fireTimers();
      expect(world.asked().slice(5)).toHaveLength(sent);
    }
    expect(
      world
        .asked()
        .slice(5)
        .map(({ key }) => String(key))
        .toSorted(),
    ).toEqual(keys);
  });

  test('with a value that their own topic does not take are a fault of the record that sets them', async () => {
    const world = await partition();
    const stage: AnyStage = {
      ...counting,
      decide: (_, { at }) => [later('odd', at, { type: 'count', key: 'a', emit: 'many' })],
    };
    await world.ask(count('a'));
    const open = await world.open({ stage });
    expect(await open.handle()).toBe('handled');
    expect(world.values(deadLetters).map(({ code }) => code)).toEqual(['stage-fault']);
    await world.pass(1_000);
    await open.fireTimers();
    expect([world.asked().length, [...world.simulation.timers(world.slot()).keys()]]).toEqual([1, []]);
  });

  test('that were taken back or set again later are not sent', async () => {
    const world = await partition();
    await world.ask(remind('a', 10), remind('b', 10), { type: 'calm', key: 'a' }, remind('b', 90_000));
    const open = await world.open();
    await open.handle();
    await world.pass(1_000);
    await open.fireTimers();
    expect(world.asked()).toHaveLength(4);
  });
});

describe('a closed partition', () => {
  test('handles nothing more, and takes no step after the one that runs', async () => {
    const world = await partition({ batchRecords: 1 });
    await world.ask(count('a', 1), count('a', 1));
    const open = await world.open();
    const handling = open.raw.handle(world.asked());
    await runUntil(world.simulation, () => world.log.includes('save 0'));
    open.close();
    expect(await settle(world.simulation, handling)).toBe('reopen');
    expect([world.counts(), await open.handle()]).toEqual([{ a: 1 }, 'reopen']);
  });

  test('stops waiting for what is away', async () => {
    const world = await partition();
    await world.ask(count('a'));
    const store: Store = { ...world.store, view: () => Promise.reject(unavailable('as the test wants it')) };
    const open = await world.open({ store });
    const handling = open.raw.handle(world.asked());
    const ended = expect(handling).rejects.toMatchObject({ code: 'infrastructure-unavailable' });
    await world.pass(2_000);
    open.close();
    await settle(world.simulation, ended);
  });
});

describe('while something is away', () => {
  test('the store: a batch waits at each of its steps and is done once', async () => {
    const world = await partition();
    const failures = new Map<string, number>();
    const flaky = <T>(step: string, work: () => Promise<T>): Promise<T> => {
      const failed = failures.get(step) ?? 0;
      failures.set(step, failed + 1);
      return failed < 2 ? Promise.reject(unavailable(step)) : work();
    };
    const store: Store = {
      ...world.store,
      view: (slot, wanted) => flaky('view', () => world.store.view(slot, wanted)),
      save: (slot, expected, changes) => flaky('save', () => world.store.save(slot, expected, changes)),
    };
    await world.ask(count('a', 1));
    const open = await world.open({ store });
    expect(await open.handle()).toBe('handled');
    expect([world.counts(), world.values(counted).length, [...failures]]).toEqual([
      { a: 1 },
      1,
      [
        ['view', 3],
        ['save', 3],
      ],
    ]);
  });

  test('the registry: a record of an unknown schema waits, rejects nothing and asks no more than it must', async () => {
    const world = await partition();
    let asked = 0;
    const codec: Codec = {
      ...world.codec,
      decode(topic, bytes) {
        asked++;
        const decoded = world.codec.decode(topic, bytes);
        return asked < 4 ? Promise.reject(unavailable('as the test wants it')) : Promise.resolve(decoded);
      },
    };
    await world.ask(count('a', 1));
    const open = await world.open({ codec });
    expect(await open.handle()).toBe('handled');
    expect([world.counts(), world.values(deadLetters), asked]).toEqual([{ a: 1 }, [], 4]);
  });
});

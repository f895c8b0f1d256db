import { describe, expect, test } from 'vitest';
import { deadLetters } from '../../schemas/dead-letter.ts';
import type { CallAnswer, CallRequest } from '../stage/effects.ts';
import type { AnyStage } from '../stage/stage.ts';
import { type Ask, counted, counting } from '../testing/counting-stage.ts';
import { type CountingProcess, countingWorld, runtimeWith } from '../testing/counting-world.ts';
import { runUntil, settle } from '../testing/settle.ts';
import { silentLog } from './log.ts';
import type { Faults } from './memory/faults.ts';
import { unavailable } from './memory/faults.ts';
import { groupOf, type RunningStage, runStage, type StageOptions } from './run-stage.ts';
import type { RuntimeSettings } from './runtime-settings.ts';

const count = (key: string, emit = 0): Ask => ({ type: 'count', key, emit });
const callOf = (key: string): Ask => ({ type: 'call', key });
const noContent: CallAnswer = { status: 204, headers: {}, body: '' };

/** The counting stage, started in a world in memory. */
async function stageWorld(
  options: {
    readonly seed?: number;
    readonly partitions?: number;
    readonly maxBatch?: number;
    readonly runtime?: Partial<RuntimeSettings>;
    readonly faults?: Partial<Faults>;
  } = {},
) {
  const world = await countingWorld(options);
  const { simulation } = world;
  const requests: CallRequest[] = [];
  const phrases: string[] = [];
  const batches: number[] = [];
  const note = (_: object, phrase: string) => void phrases.push(phrase);
  let reopened = 0;

  return {
    ...world,
    requests,
    phrases,
    batches,
    reopened: () => reopened,
    committed: (partition = 0) => simulation.committed(groupOf('counting'), 'asks', partition),
    commits: () => world.log.filter((line) => line.startsWith('commit')),
    saves: () => world.log.filter((line) => line.startsWith('save')),
    async run(more: Partial<StageOptions> & { readonly on?: CountingProcess } = {}): Promise<RunningStage> {
      const { on, ...some } = more;
      const mine = on ?? (await world.start());
      const perform = async (request: CallRequest): Promise<CallAnswer> => {
        requests.push(request);
        world.log.push('call');
        return noContent;
      };
      const starting = runStage({
        stage: counting,
        settings: {},
        ...mine,
        runtime: runtimeWith(options.runtime ?? {}),
        perform,
        log: { ...silentLog, warn: note, error: note },
        observer: {
          folded: () => undefined,
          batch: (_, __, batch) => void batches.push(batch.records.length),
          reopened: () => void reopened++,
        },
        ...some,
      });
      const running = await settle(simulation, starting);
      await runUntil(simulation, () => running.health().partitions.length > 0);
      return running;
    },
    until: (condition: () => boolean) => runUntil(simulation, condition),
    pass: (ms: number) => {
      const end = simulation.now() + ms;
      return runUntil(simulation, () => simulation.now() >= end);
    },
    stop: (running: RunningStage) => settle(simulation, running.stop()),
  };
}

const emitted = (world: Awaited<ReturnType<typeof stageWorld>>) =>
  world.values(counted).map((value) => `${value.key}${value.count}`);

/** What readers see: a repeat has the origin of what it repeats, and they drop it. */
const told = (world: Awaited<ReturnType<typeof stageWorld>>) => {
  const records = world.simulation.records('counted').flat();
  return emitted(world).filter(
    (_, index) => records.findIndex(({ header }) => header === records[index]?.header) === index,
  );
};

describe('a stage at work', () => {
  test('counts what comes, before it started and after, and leaves its group when it stops', async () => {
    const world = await stageWorld();
    await world.ask(count('a', 1), count('b', 1));
    const running = await world.run();
    await world.until(() => emitted(world).length === 2);
    await world.ask(count('a', 1));
    await world.until(() => emitted(world).length === 3);
    await world.stop(running);
    await settle(world.simulation, running.ended);
    expect([emitted(world), world.counts(), world.log.at(-1)]).toEqual([['a1', 'b1', 'a2'], { a: 2, b: 1 }, 'leave']);
    await world.ask(count('a', 1));
    await world.simulation.run({ steps: 500 });
    expect(emitted(world)).toHaveLength(3);
  });

  test('commits what it saved once a second, however many batches there were, and the rest when it stops', async () => {
    const world = await stageWorld({ maxBatch: 1, runtime: { commitMs: 1_000, tickMs: 50 } });
    const running = await world.run();
    const until = world.simulation.now() + 5_000;
    while (world.simulation.now() < until) {
      await world.ask(count('a'));
      await world.pass(100);
    }
    const { length } = world.commits();
    expect([length >= 4 && length <= 5, world.saves().length > 30]).toEqual([true, true]);
    await world.ask(count('a'));
    const all = BigInt(world.asked().length);
    await world.until(() => world.saves().length === Number(all));
    await world.stop(running);
    expect([world.committed(), world.log.slice(-2)]).toEqual([all, [`commit 0:${all}`, 'leave']]);
  });

  test('commits nothing where nothing has moved', async () => {
    const world = await stageWorld({ partitions: 3 });
    await world.ask(count('a'));
    await world.run();
    await world.until(() => world.commits().length > 0);
    const before = world.commits().length;
    await world.pass(10_000);
    expect(world.commits().slice(before)).toEqual([]);
  });

  test('sends timers as they become due, and sees them come back', async () => {
    const world = await stageWorld();
    await world.ask({ type: 'remind', key: 'a', inMs: 700 });
    await world.run();
    const from = world.simulation.now();
    await world.until(() => emitted(world).length === 1);
    expect(emitted(world)).toEqual(['a1']);
    expect(world.simulation.now() - from).toBeGreaterThanOrEqual(600);
    await world.pass(60_000);
    expect([emitted(world), world.asked().length]).toEqual([['a1'], 2]);
  });

  test('sends the timers of many partitions side by side: none waits until the store has answered for all before it', async () => {
    const [partitions, answerMs] = [12, 40];
    const world = await stageWorld({ partitions, runtime: { tickMs: 100 } });
    const keys = Array.from({ length: 40 }, (_, number) => `key-${number}`);
    await world.ask(...keys.map((key): Ask => ({ type: 'remind', key, inMs: 5_000 })));
    const mine = await world.start();
    const due: typeof mine.store.due = async (...asked) => {
      await mine.clock.sleep(answerMs);
      return mine.store.due(...asked);
    };
    const asked = () => Array.from({ length: partitions }, (_, partition) => world.asked(partition));
    const appendedAt = Math.max(...asked().flatMap((records) => records.map(({ at }) => at)));
    expect(asked().filter((records) => records.length > 0).length).toBeGreaterThan(9);
    await world.run({ on: { ...mine, store: { ...mine.store, due } } });
    await world.until(() => asked().flat().length === 2 * keys.length);
    const lateMs = world.simulation.now() - (appendedAt + 5_000);
    expect(lateMs).toBeLessThan(400);
  });

  test('takes up where the one before it stopped', async () => {
    const world = await stageWorld();
    await world.ask(count('a', 1));
    const first = await world.run();
    await world.until(() => emitted(world).length === 1);
    await world.stop(first);
    await world.ask(count('a', 1));
    await world.run();
    await world.until(() => world.counts().a === 2);
    expect(emitted(world)).toEqual(['a1', 'a2']);
  });
});

describe('provider calls', () => {
  test('are made after the batch is saved and its offset committed, and their answers come back on the input topic', async () => {
    const world = await stageWorld();
    await world.ask(callOf('a'));
    await world.run();
    await world.until(() => emitted(world).length === 1);
    const steps = world.log.filter((line) => /^(save 0|commit|call)/.test(line)).slice(0, 3);
    expect(steps).toEqual(['save 0', 'commit 0:1', 'call']);
    expect([emitted(world), world.requests.map(({ url }) => url)]).toEqual([['a204'], ['http://provider.example/a']]);
    expect(world.asked()[1]?.header).toBe('1 asks/0/0 asks/0/0 c=asks/0/0.1');
  });

  test('are not made while the commit fails: the stage rejects nothing and goes on when the group answers', async () => {
    const world = await stageWorld();
    const mine = await world.start();
    let refused = 0;
    const bus: CountingProcess['bus'] = {
      ...mine.bus,
      async join(group, topic, owner) {
        const membership = await mine.bus.join(group, topic, owner);
        return {
          ...membership,
          async commit(offsets) {
            if (++refused <= 2) throw unavailable('as the test wants it');
            return membership.commit(offsets);
          },
        };
      },
    };
    await world.ask(callOf('a'), count('b', 1));
    const running = await world.run({ on: { ...mine, bus } });
    let ended: unknown;
    running.ended.catch((error: unknown) => {
      ended = error;
    });
    await world.until(() => ended !== undefined || emitted(world).length === 2);
    expect([ended, emitted(world).toSorted(), world.requests.length]).toEqual([undefined, ['a204', 'b1'], 1]);
  });

  test('run side by side up to their bound, and hold up no batch', async () => {
    const world = await stageWorld({ runtime: { callsInFlight: 2 } });
    const gates = new Map<string, PromiseWithResolvers<CallAnswer>>();
    const perform = ({ url }: CallRequest) => {
      const gate = Promise.withResolvers<CallAnswer>();
      gates.set(url.slice(-1), gate);
      return gate.promise;
    };
    await world.ask(callOf('a'), callOf('b'), callOf('c'), count('z', 1));
    await world.run({ perform });
    await world.until(() => emitted(world).length === 1 && gates.size === 2);
    await world.pass(1_000);
    expect([[...gates.keys()], emitted(world)]).toEqual([['a', 'b'], ['z1']]);
    gates.get('b')?.resolve(noContent);
    await world.until(() => emitted(world).includes('b204') && gates.size === 3);
    expect([...gates.keys()]).toEqual(['a', 'b', 'c']);
  });

  test('wait in the log where as many wait already as may run', async () => {
    const world = await stageWorld({ runtime: { callsInFlight: 2, batchRecords: 1 } });
    const gate = Promise.withResolvers<CallAnswer>();
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await world.ask(...keys.map(callOf));
    await world.run({ perform: () => gate.promise });
    await world.until(() => world.saves().length === 5);
    await world.pass(10_000);
    expect(world.saves()).toHaveLength(5);
    gate.resolve(noContent);
    await world.until(() => emitted(world).length === keys.length);
    expect(emitted(world).toSorted()).toEqual(keys.map((key) => `${key}204`));
  });

  test('of records that were committed before are not made again when the state is folded anew', async () => {
    const world = await stageWorld({ runtime: { fenceCheckMs: 500 } });
    await world.ask(callOf('a'), count('b', 1));
    await world.run();
    await world.until(() => emitted(world).length === 2 && world.committed() === 3n);
    world.simulation.forget(Number.POSITIVE_INFINITY);
    await world.until(() => world.reopened() > 0 && world.simulation.position(world.slot()).fence === 2n);
    expect([world.requests.length, emitted(world), world.counts()]).toEqual([1, ['b1', 'a204'], { a: 1, b: 1 }]);
  });

  test('whose answer cannot be written are told to the log, and end nothing', async () => {
    const world = await stageWorld();
    await world.ask(callOf('a'), count('b', 1));
    await world.run({ perform: async () => ({ ...noContent, status: 1.5 }) });
    await world.until(() => world.phrases.includes('answer lost'));
    await world.ask(count('b', 1));
    await world.until(() => emitted(world).length === 2);
    expect(emitted(world)).toEqual(['b1', 'b2']);
  });
});

describe('a graceful stop', () => {
  test('finishes the batch that runs, commits it and takes up no other', async () => {
    const world = await stageWorld({ maxBatch: 1 });
    const mine = await world.start();
    const gate = Promise.withResolvers<void>();
    const store: CountingProcess['store'] = {
      ...mine.store,
      async save(slot, expected, changes) {
        await gate.promise;
        return mine.store.save(slot, expected, changes);
      },
    };
    await world.ask(count('a', 1), count('a', 1));
    const running = await world.run({ on: { ...mine, store } });
    await world.until(() => emitted(world).length === 1);
    const stopping = running.stop();
    await world.simulation.run({ steps: 100 });
    expect(world.log.includes('leave')).toBe(false);
    gate.resolve();
    await settle(world.simulation, stopping);
    expect([world.counts(), emitted(world), world.committed()]).toEqual([{ a: 1 }, ['a1'], 1n]);
  });

  test('leaves the rest of a large batch in the log, for whoever comes next', async () => {
    const world = await stageWorld({ maxBatch: 8, runtime: { batchRecords: 1 } });
    const mine = await world.start();
    const gate = Promise.withResolvers<void>();
    const store: CountingProcess['store'] = {
      ...mine.store,
      async save(slot, expected, changes) {
        await gate.promise;
        return mine.store.save(slot, expected, changes);
      },
    };
    await world.ask(...Array.from({ length: 8 }, () => count('a', 1)));
    const running = await world.run({ on: { ...mine, store } });
    await world.until(() => emitted(world).length === 1);
    const stopping = running.stop();
    gate.resolve();
    await settle(world.simulation, stopping);
    expect([world.counts(), world.committed()]).toEqual([{ a: 1 }, 1n]);

    const next = await world.run();
    await world.until(() => world.counts().a === 8);
    await world.stop(next);
    expect(told(world)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8']);
  });

  test('waits for the calls that run, those of the last batch too, and for their answers', async () => {
    const world = await stageWorld();
    const mine = await world.start();
    const [saving, answering] = [Promise.withResolvers<void>(), Promise.withResolvers<CallAnswer>()];
    const store: CountingProcess['store'] = {
      ...mine.store,
      async save(slot, expected, changes) {
        await saving.promise;
        return mine.store.save(slot, expected, changes);
      },
    };
    await world.ask(callOf('a'), count('b', 1));
    const running = await world.run({ on: { ...mine, store }, perform: () => answering.promise });
    await world.until(() => emitted(world).length === 1);
    const stopping = running.stop();
    saving.resolve();
    await world.until(() => world.saves().length > 0);
    await world.simulation.run({ steps: 100 });
    expect(world.log.includes('leave')).toBe(false);
    answering.resolve(noContent);
    await settle(world.simulation, stopping);
    expect(world.asked().map(({ header }) => header)).toEqual([undefined, undefined, expect.stringContaining(' c=')]);
  });

  test('asks the log for nothing while it waits', async () => {
    const world = await stageWorld({ maxBatch: 1 });
    const answering = Promise.withResolvers<CallAnswer>();
    await world.ask(callOf('a'));
    const running = await world.run({ perform: () => answering.promise });
    await world.until(() => world.committed() === 1n);
    const stopping = running.stop();
    await world.ask(count('b', 1), count('b', 1));
    const from = world.simulation.now();
    // Time passes only where nobody asks again and again.
    await world.simulation.run({ steps: 200 });
    expect(world.simulation.now() - from).toBeGreaterThan(1_000);
    answering.resolve(noContent);
    await settle(world.simulation, stopping);
    expect(emitted(world)).toEqual([]);
  });

  test('does not need the last commit', async () => {
    const world = await stageWorld({ runtime: { commitMs: 60_000 } });
    const mine = await world.start();
    const bus: CountingProcess['bus'] = {
      ...mine.bus,
      join: async (group, topic, owner) => ({
        ...(await mine.bus.join(group, topic, owner)),
        commit: () => Promise.reject(unavailable('as the test wants it')),
      }),
    };
    await world.ask(count('a', 1));
    const running = await world.run({ on: { ...mine, bus } });
    await world.until(() => world.saves().length === 1);
    await world.stop(running);
    expect([world.committed(), world.phrases.at(-1), world.log.at(-1)]).toEqual([-1n, 'last commit failed', 'leave']);
  });
});

describe('state that was lost or taken', () => {
  test('is noticed while nothing comes, and made up for without a second effect', async () => {
    const world = await stageWorld({ runtime: { fenceCheckMs: 1_000 } });
    await world.ask(count('a', 1), count('a', 1));
    await world.run();
    await world.until(() => world.committed() === 2n);
    await world.pass(3_000);
    expect(world.reopened()).toBe(0);
    world.simulation.forget(Number.POSITIVE_INFINITY);
    const from = world.simulation.now();
    await world.until(() => world.counts().a === 2);
    expect(world.simulation.now() - from).toBeLessThan(1_500);
    expect([world.reopened(), emitted(world)]).toEqual([1, ['a1', 'a2']]);
  });

  test('is looked for every few seconds while nothing comes, and not at each look', async () => {
    const world = await stageWorld({ runtime: { tickMs: 100, fenceCheckMs: 2_000 } });
    const mine = await world.start();
    let compared = 0;
    const store: CountingProcess['store'] = {
      ...mine.store,
      fence(slot) {
        compared++;
        return mine.store.fence(slot);
      },
    };
    await world.run({ on: { ...mine, store } });
    await world.pass(20_000);
    expect([compared >= 7, compared <= 10]).toEqual([true, true]);
  });

  test('is read again in the middle of work, and the work goes on', async () => {
    const world = await stageWorld({ runtime: { fenceCheckMs: 600_000 } });
    await world.ask(count('a', 1));
    await world.run();
    await world.until(() => world.committed() === 1n);
    world.simulation.forget(Number.POSITIVE_INFINITY);
    await world.ask(count('b', 1), count('a', 1));
    await world.until(() => world.counts().a === 2 && world.counts().b === 1);
    expect([told(world), world.reopened()]).toEqual([['a1', 'b1', 'a2'], 1]);
  });

  test('is handed over to another copy, and comes back when it leaves', async () => {
    const world = await stageWorld({ partitions: 4 });
    const keys = Array.from({ length: 12 }, (_, index) => `key-${index}`);
    const askAll = () => world.ask(...keys.map((key) => count(key, 1)));
    await askAll();
    const first = await world.run();
    const second = await world.run();
    await world.until(() => first.health().partitions.length === 2 && second.health().partitions.length === 2);
    await askAll();
    await world.until(() => told(world).length >= 24);
    await world.stop(second);
    await world.until(() => first.health().partitions.length === 4);
    await askAll();
    await world.until(() => told(world).length >= 36);
    expect(told(world).toSorted()).toEqual(keys.flatMap((key) => [1, 2, 3].map((each) => key + each)).toSorted());
  });
});

describe('how it does', () => {
  test('is ready with its partitions while it is in its group, and not after', async () => {
    const world = await stageWorld({ partitions: 2 });
    const running = await world.run();
    const { heartbeatAt } = running.health();
    await world.pass(500);
    const { heartbeatAt: later, ...health } = running.health();
    expect(later).toBeGreaterThan(heartbeatAt);
    expect(health).toEqual({
      stage: 'counting',
      ready: true,
      partitions: [0, 1],
      lags: [0, 1].map((partition) => ({ partition, records: 0n, since: undefined })),
      tableRows: new Map(),
      failedCommits: 0,
      truncatedStates: 0,
      rejectsInARow: 0,
      breakerOpen: false,
      stuckSince: undefined,
    });
    await world.stop(running);
    expect(running.health()).toMatchObject({ ready: false, partitions: [], lags: [] });
  });

  test('knows what is left and since when, during a batch and after it', async () => {
    const world = await stageWorld({ maxBatch: 1 });
    const lags: unknown[] = [];
    const running: RunningStage = await world.run({
      observer: {
        folded: () => void lags.push(running.health().lags),
        batch: () => void lags.push(running.health().lags),
        reopened: () => undefined,
      },
    });
    const from = world.simulation.now();
    await world.ask(count('a'), count('b'));
    await world.until(() => lags.length === 4);
    await world.pass(100);
    const [first] = world.asked();
    const [at, none] = [first?.at ?? 0, { partition: 0, records: 0n, since: undefined }];
    expect([at >= from, running.health().lags]).toEqual([true, [none]]);
    expect(lags[0]).toEqual([{ partition: 0, records: 2n, since: at }]);
  });

  test('knows what is left of a partition that no batch comes from, since when, and that it is stuck', async () => {
    const world = await stageWorld({ partitions: 2, runtime: { lagMs: 1_000 } });
    const mine = await world.start();
    const bus: CountingProcess['bus'] = {
      ...mine.bus,
      join: (group, topic, owner) =>
        mine.bus.join(group, topic, { ...owner, batch: () => new Promise(() => undefined) }),
    };
    const running = await world.run({ on: { ...mine, bus } });
    await world.ask(count('a'), count('a'), count('a'));
    await world.pass(2_500);
    const [first] = world.asked();
    const { lags, stuckSince } = running.health();
    expect(lags).toEqual([
      { partition: 0, records: 3n, since: first?.at },
      { partition: 1, records: 0n, since: undefined },
    ]);
    expect(stuckSince).toBeGreaterThanOrEqual(first?.at ?? 0);
    expect(stuckSince).toBeLessThan(world.simulation.now() - 1_000);
  });

  test('counts what came in while a batch takes long', async () => {
    const world = await stageWorld({ runtime: { lagMs: 1_000 } });
    const mine = await world.start();
    const store: CountingProcess['store'] = { ...mine.store, save: () => new Promise(() => undefined) };
    const running = await world.run({ on: { ...mine, store } });
    await world.ask(count('a'));
    await world.pass(1_500);
    await world.ask(count('a'), count('b'));
    await world.pass(2_500);
    const [first] = world.asked();
    expect(running.health().lags).toEqual([{ partition: 0, records: 3n, since: first?.at }]);
  });

  test('counts the commits that its group did not take', async () => {
    const world = await stageWorld();
    const mine = await world.start();
    let refused = 0;
    const bus: CountingProcess['bus'] = {
      ...mine.bus,
      async join(...place) {
        const membership = await mine.bus.join(...place);
        return {
          ...membership,
          async commit(offsets) {
            if (refused++ < 2) throw unavailable('as the test wants it');
            return membership.commit(offsets);
          },
        };
      },
    };
    const running = await world.run({ on: { ...mine, bus } });
    await world.ask(count('a'));
    await world.until(() => world.committed() === 1n);
    expect(running.health().failedCommits).toBe(2);
  });

  test('is stuck since a batch came that does not end, the first one too, and no more when it has ended', async () => {
    const world = await stageWorld();
    const mine = await world.start();
    let away = true;
    const store: CountingProcess['store'] = {
      ...mine.store,
      async save(slot, expected, changes) {
        if (away) throw unavailable('as the test wants it');
        return mine.store.save(slot, expected, changes);
      },
    };
    const running = await world.run({ on: { ...mine, store } });
    await world.pass(10_000);
    expect(running.health().stuckSince).toBeUndefined();
    const from = world.simulation.now();
    await world.ask(count('a', 1));
    await world.pass(5_000);
    const since = running.health().stuckSince ?? 0;
    expect([since >= from, since < from + 1_000]).toEqual([true, true]);
    await world.pass(5_000);
    expect(running.health().stuckSince).toBe(since);
    away = false;
    await world.until(() => world.saves().length === 1);
    await world.pass(100);
    expect(running.health().stuckSince).toBeUndefined();
  });
});

describe('while something is away', () => {
  test('the log of a waiting stage has a line now and then, not one for each try', async () => {
    const world = await stageWorld({ runtime: { tickMs: 100, fenceCheckMs: 1_000 } });
    const mine = await world.start();
    let away = false;
    let tries = 0;
    const store: CountingProcess['store'] = {
      ...mine.store,
      async fence(slot) {
        const fence = await mine.store.fence(slot);
        if (!away) return fence;
        tries++;
        throw unavailable('as the test wants it');
      },
    };
    await world.run({ on: { ...mine, store } });
    away = true;
    await world.pass(120_000);
    const lines = world.phrases.filter((phrase) => phrase === 'waiting').length;
    expect([tries > 50, lines >= 2 && lines <= 5, world.reopened()]).toEqual([true, true, 0]);
    away = false;
    await world.ask(count('a', 1));
    await world.until(() => emitted(world).length === 1);
  });

  test('so it is while its start waits', async () => {
    const world = await stageWorld();
    const mine = await world.start();
    let away = true;
    const bus: CountingProcess['bus'] = {
      ...mine.bus,
      async offsets(topic) {
        if (away) throw unavailable('as the test wants it');
        return mine.bus.offsets(topic);
      },
    };
    const starting = world.run({ on: { ...mine, bus } });
    await world.pass(70_000);
    expect(world.phrases).toEqual(['waiting', 'waiting', 'waiting']);
    away = false;
    expect((await starting).health().ready).toBe(true);
  });
});

describe('what it cannot do without', () => {
  test.each(['asks', 'counted', 'decisions', 'dead-letters'])('is the topic %s', async (missing) => {
    const world = await stageWorld();
    const mine = await world.start();
    const bus = {
      ...mine.bus,
      offsets: async (topic: string) => (topic === missing ? undefined : mine.bus.offsets(topic)),
    };
    await expect(world.run({ on: { ...mine, bus } })).rejects.toMatchObject({
      code: 'topic-missing',
      details: { topic: missing },
    });
  });

  test('is a topic of its tables', async () => {
    const world = await stageWorld();
    const known: AnyStage = counting;
    const stage: AnyStage = { ...known, tables: { others: { ...counted, name: 'others' } } };
    await expect(world.run({ stage })).rejects.toMatchObject({ code: 'topic-missing' });
  });

  test('are the records that its state needs: it ends, and says which', async () => {
    const world = await stageWorld();
    await world.ask(count('a'), count('a'), count('a'));
    const first = await world.run();
    await world.until(() => world.saves().length > 0);
    await world.stop(first);
    const { fence } = world.simulation.position(world.slot());
    await world.ask(count('a'), count('a'));
    world.simulation.truncate('asks', 0, fence + 2n);
    const running = await world.run();
    await expect(settle(world.simulation, running.ended)).rejects.toMatchObject({ code: 'offset-gap' });
  });

  test('is a stage that works: it ends before all its records are dead letters, and is not ready any more', async () => {
    const world = await stageWorld({ runtime: { rejectsInARow: 3 } });
    const fault: Ask = { type: 'throw', key: 'a' };
    const running = await world.run();
    await world.ask(fault, fault);
    await world.until(() => running.health().rejectsInARow === 2);
    expect(running.health().breakerOpen).toBe(false);
    await world.ask(count('a', 1), fault, fault, fault);
    await expect(settle(world.simulation, running.ended)).rejects.toMatchObject({ code: 'too-many-rejects' });
    const rejected = world.values(deadLetters).map(({ offset }) => Number(offset));
    const { ready, breakerOpen } = running.health();
    expect([ready, breakerOpen, emitted(world), rejected.every((offset) => offset < 5)]).toEqual([
      false,
      true,
      ['a1'],
      true,
    ]);
  });

  test('is not any one answer of the world: it starts while everything fails now and then', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const faults = { busFails: 0.4, storeFails: 0.4 };
      const world = await stageWorld({ seed, faults, runtime: { retryMs: 20 } });
      const known: AnyStage = counting;
      const stage: AnyStage = { ...known, tables: { letters: deadLetters } };
      await world.ask(count('a', 1), { type: 'reject', key: 'a' }, count('a', 1));
      const running = await world.run({ stage });
      await world.until(() => world.counts().a === 2);
      expect([...running.health().tableRows.keys()]).toEqual(['letters']);
      const codes = new Set(world.values(deadLetters).map(({ code }) => code));
      expect([new Set(emitted(world)), codes]).toEqual([new Set(['a1', 'a2']), new Set(['payload-invalid'])]);
    }
  });
});

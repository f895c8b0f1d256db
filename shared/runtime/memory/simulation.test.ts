import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BusError } from '../../errors.ts';
import { busContract } from '../../testing/bus-contract.ts';
import { recordingOwner } from '../../testing/recording-owner.ts';
import { schemaRegistryContract } from '../../testing/schema-registry-contract.ts';
import { storeContract } from '../../testing/store-contract.ts';
import type { OutgoingRecord } from '../bus.ts';
import type { Slot, SlotChanges } from '../store.ts';
import type { Faults } from './faults.ts';
import { createSimulation, type SimulatedProcess, type Simulation } from './simulation.ts';

const slot: Slot = { stage: 'counter', partition: 0, generation: 1 };

const save = (fence: bigint, rows: SlotChanges['rows'] = []): SlotChanges => ({
  fence,
  at: Number(fence),
  watermarks: new Map(),
  rows,
  timers: [],
});

const record = (topic: string, partition: number, text: string): OutgoingRecord => ({
  topic,
  partition,
  key: null,
  value: Buffer.from(text),
});

const texts = (simulation: Simulation, topic: string): string[][] =>
  simulation.records(topic).map((records) => records.map((each) => String(each.value)));

/** Repeats what the world did not answer. */
async function persistent<T>(process: SimulatedProcess, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (cause) {
      if (!(cause instanceof BusError) || cause.code !== 'infrastructure-unavailable') throw cause;
      await process.clock.sleep(10);
    }
  }
}

/** A small stage: keeps what it read in the store, once each, and passes it on. */
async function collect(process: SimulatedProcess): Promise<void> {
  const seen = new Map<number, { fence: bigint; texts: readonly string[] }>();
  const slotOf = (partition: number): Slot => ({ ...slot, partition });
  const open = async (partition: number): Promise<bigint> => {
    // The fence is read first: the rows may only be newer, and then the save fails.
    const { fence } = await persistent(process, () => process.store.open(slotOf(partition)));
    const [row] = await persistent(process, () => process.store.load(slotOf(partition), ['seen:all']));
    seen.set(partition, { fence, texts: row === undefined ? [] : JSON.parse(row) });
    return fence + 1n;
  };
  await persistent(process, () =>
    process.bus.join('collectors', 'in', {
      assigned: open,
      async batch(partition, batch) {
        const before = seen.get(partition) ?? { fence: -1n, texts: [] };
        const read = batch.records.map((each) => String(each.value));
        await persistent(process, () => process.bus.produce(read.map((text) => record('out', partition, text))));
        const next = { fence: batch.next - 1n, texts: [...before.texts, ...read] };
        const changes = save(next.fence, [{ row: 'seen:all', json: JSON.stringify(next.texts) }]);
        const saved = await persistent(process, () => process.store.save(slotOf(partition), before.fence, changes));
        if (saved.type !== 'saved') return open(partition);
        seen.set(partition, next);
        return batch.next;
      },
      revoked: (partition) => void seen.delete(partition),
    }),
  );
}

const collected = (simulation: Simulation): readonly (readonly string[])[] =>
  [0, 1].map((partition) => JSON.parse(simulation.row({ ...slot, partition }, 'seen:all') ?? '[]'));

const input = [0, 1].map((partition) => Array.from({ length: 12 }, (_, index) => `${partition}.${index}`));

function createWorld(seed: number, faults: Partial<Faults> = {}): Simulation {
  const simulation = createSimulation({ seed, faults, maxBatch: 4, trace: true });
  simulation.createTopics([
    { name: 'in', partitions: 2 },
    { name: 'out', partitions: 2 },
  ]);
  const producer = simulation.process('producer');
  void (async () => {
    for (const [index] of (input[0] ?? []).entries()) {
      await producer.bus.produce(input.map((each, partition) => record('in', partition, each[index] ?? '')));
    }
  })();
  return simulation;
}

const unkind: Partial<Faults> = { produceTwice: 0.1, busFails: 0.1, storeFails: 0.1, timeJumps: 0.05, lateMs: 30 };

describe('a simulation', () => {
  test('takes the same steps with the same seed, and others with another', async () => {
    const run = async (seed: number): Promise<readonly string[]> => {
      const simulation = createWorld(seed, unkind);
      for (const name of ['a', 'b']) void collect(simulation.process(name));
      await simulation.run({ quietMs: 2_000, steps: 3_000 });
      return simulation.trace();
    };
    const [first, again, other] = [await run(7), await run(7), await run(8)];
    expect(first.length).toBeGreaterThan(100);
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });

  test('a process may die at any step, and its successor finishes its work exactly once', {
    timeout: 20_000,
  }, async () => {
    let steps = Number.POSITIVE_INFINITY;
    for (let at = 0; at < steps; at++) {
      const simulation = createWorld(at, unkind);
      const first = simulation.process('first');
      void collect(first);
      const kill = (step: number): void => {
        if (step !== at) return;
        first.kill();
        void collect(simulation.process('second'));
      };
      const complete = () =>
        texts(simulation, 'in').every((each) => new Set(each).size === 12) &&
        JSON.stringify(collected(simulation)) === JSON.stringify(texts(simulation, 'in'));
      // A run that is over before the step of its death is the last one that is of interest.
      if ((await simulation.run({ steps: 8_000, until: complete, before: kill })) !== 'until') {
        expect.fail(`seed and step ${at}\n${simulation.trace().join('\n')}`);
      }
      if (first.alive()) steps = at;
      expect(texts(simulation, 'out').map((each) => [...new Set(each)])).toEqual(input);
    }
    expect(steps).toBeGreaterThan(30);
  });

  test('runs until the bound that comes first', async () => {
    const simulation = createSimulation({ seed: 1 });
    const process = simulation.process('a');
    expect(await simulation.run()).toBe('quiet');
    void (async () => {
      for (;;) await process.clock.sleep(100);
    })();
    const before = simulation.now();
    expect(await simulation.run({ steps: 5 })).toBe('steps');
    expect(simulation.now() - before).toBeGreaterThanOrEqual(500);
    expect(await simulation.run({ quietMs: 1_000, steps: 50 })).toBe('quiet');
    expect(await simulation.run({ until: () => simulation.now() - before > 5_000 })).toBe('until');
  });
});

describe('virtual time', () => {
  test('sleepers wake in the order of their times, or at once when they are called off', async () => {
    const simulation = createSimulation({ seed: 3 });
    const { clock } = simulation.process('a');
    const start = clock.now();
    const woken: string[] = [];
    const abort = new AbortController();
    void clock.sleep(5_000).then(() => woken.push('late'));
    void clock.sleep(50, abort.signal).then(() => woken.push('called off'));
    void clock.sleep(1_000).then(() => woken.push(`early ${clock.now() - start >= 1_000}`));
    abort.abort();
    void clock.sleep(9_000, abort.signal).then(() => woken.push('never slept'));
    expect(await simulation.run()).toBe('quiet');
    expect(woken).toEqual(['called off', 'never slept', 'early true', 'late']);
    expect(clock.now() - start).toBeLessThan(5_010);
  });
});

describe('a process that is killed', () => {
  test('hears nothing any more; what it asked for happens or not', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const simulation = createSimulation({ seed });
      simulation.createTopics([{ name: 'in', partitions: 1 }]);
      const process = simulation.process('a');
      let heard = false;
      const hear = () => {
        heard = true;
      };
      process.bus.produce([record('in', 0, 'a')]).then(hear, hear);
      process.clock.sleep(10).then(hear, hear);
      process.kill();
      process.store.save(slot, -1n, save(1n)).then(hear, hear);
      await simulation.run();
      expect(heard).toBe(false);
      expect(simulation.position(slot).fence).toBe(-1n);
      outcomes.add(texts(simulation, 'in').join());
    }
    expect(outcomes).toEqual(new Set(['', 'a']));
  });
});

describe('a frozen process', () => {
  test('loses its partitions, goes on as a zombie, and then learns of it', async () => {
    const simulation = createSimulation({ seed: 5, sessionMs: 200, heartbeatMs: 50 });
    simulation.createTopics([{ name: 'in', partitions: 1 }]);
    const [first, second] = [simulation.process('first'), simulation.process('second')];
    const [owner, other] = [recordingOwner(), recordingOwner()];
    const joined = first.bus.join('group', 'in', owner);
    await simulation.run({ until: () => owner.held().length === 1 });
    first.freeze();
    void second.bus.join('group', 'in', other);
    const zombieSave = first.store.save(slot, -1n, save(4n));
    const zombieSend = first.bus.produce([record('in', 0, 'of a zombie')]);
    await simulation.run({ until: () => other.held().length === 1 });
    expect([owner.held(), simulation.position(slot).fence, texts(simulation, 'in')]).toEqual([[0], -1n, [[]]]);

    const refused = joined.then((membership) => membership.commit(new Map([[0, 1n]]))).catch((cause: unknown) => cause);
    first.resume();
    await simulation.run({ until: () => owner.held().length === 0 });
    await simulation.run({ until: () => texts(simulation, 'in').flat().length === 1 });
    await simulation.run({ quietMs: 100 });
    expect(await zombieSave).toEqual({ type: 'saved' });
    expect(await zombieSend).toBeUndefined();
    expect(await refused).toMatchObject({ code: 'infrastructure-unavailable' });
    expect(simulation.committed('group', 'in', 0)).toBe(-1n);
    expect(other.texts(0)).toContain('of a zombie');
  });

  test('is put out of its group after the session timeout', async () => {
    const simulation = createSimulation({ seed: 6, sessionMs: 200, heartbeatMs: 50 });
    simulation.createTopics([{ name: 'in', partitions: 4 }]);
    const processes = [simulation.process('a'), simulation.process('b')];
    const owners = processes.map((process) => {
      const owner = recordingOwner();
      void process.bus.join('group', 'in', owner);
      return owner;
    });
    const held = () => owners.map((owner) => owner.held().length);
    await simulation.run({ until: () => held().join() === '2,2' });
    processes[0]?.freeze();
    const frozenAt = simulation.now();
    await simulation.run({ until: () => owners[1]?.held().length === 4 });
    expect(simulation.now() - frozenAt).toBeGreaterThan(100);
    processes[0]?.resume();
    await simulation.run({ until: () => held().join() === '2,2' });
    expect([...owners.flatMap((owner) => owner.held())].toSorted()).toEqual([0, 1, 2, 3]);
  });
});

describe('a produce request', () => {
  const outcomesOf = async (faults: Partial<Faults>): Promise<Set<string>> => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 200; seed++) {
      const simulation = createSimulation({ seed, faults });
      simulation.createTopics([{ name: 'in', partitions: 2 }]);
      const process = simulation.process('a');
      let answer = '';
      process.bus.produce([record('in', 0, 'a'), record('in', 0, 'b'), record('in', 1, 'c')]).then(
        () => {
          answer = 'ok';
        },
        (cause: BusError) => {
          answer = cause.code;
        },
      );
      await simulation.run({ until: () => answer !== '' });
      const then = texts(simulation, 'in').map((each) => each.join(''));
      await simulation.run();
      const later = texts(simulation, 'in').map((each) => each.join(''));
      outcomes.add(`${answer}: ${then.join('|')}${later.join() === then.join() ? '' : ` then ${later.join('|')}`}`);
    }
    return outcomes;
  };

  test('that fails has landed, is lost or lands later, in each partition by itself', async () => {
    const outcomes = await outcomesOf({ produceFails: 0.5, lateMs: 100 });
    expect(outcomes).toContain('ok: ab|c');
    for (const outcome of ['ab|c', 'ab|', '|c', '|', '| then ab|c', 'ab| then ab|c', '|c then ab|c', '| then ab|']) {
      expect(outcomes).toContain(`infrastructure-unavailable: ${outcome}`);
    }
  });

  test('may be repeated by the client itself', async () => {
    expect(await outcomesOf({ produceTwice: 0.5 })).toEqual(
      new Set(['ok: ab|c', 'ok: abab|c', 'ok: ab|cc', 'ok: abab|cc']),
    );
  });
});

describe('the store', () => {
  test('forgets its newest saves in all slots at once, or everything', async () => {
    const simulation = createSimulation({ seed: 9 });
    const { store } = simulation.process('a');
    const other: Slot = { ...slot, partition: 1 };
    const work = (async () => {
      await store.save(slot, -1n, {
        ...save(1n, [{ row: 'seen:a', json: '1' }]),
        watermarks: new Map([['raw/0', { offset: 1n, effects: ['0'] }]]),
        timers: [{ set: { key: 't', id: 't', dueAt: 5, json: '1' } }],
      });
      await store.save(other, -1n, save(1n, [{ row: 'seen:a', json: '"other"' }]));
      await store.save(slot, 1n, {
        ...save(2n, [
          { row: 'seen:a', json: '2' },
          { row: 'seen:b', json: '2' },
          { row: 'seen:a', json: undefined },
        ]),
        watermarks: new Map([['raw/0', { offset: 2n, effects: ['0', '1'] }]]),
        timers: [{ clear: 't' }],
      });
      await store.save(other, 1n, save(2n, [{ row: 'seen:a', json: undefined }]));
    })();
    await simulation.run();
    await work;
    const seen = () =>
      [slot, other].map((each) => [simulation.position(each), Object.fromEntries(simulation.rows(each))]);
    const first = { fence: 1n, at: 1, watermarks: new Map([['raw/0', { offset: 1n, effects: ['0'] }]]) };
    const second = { fence: 2n, at: 2, watermarks: new Map([['raw/0', { offset: 2n, effects: ['0', '1'] }]]) };
    const bare = (fence: bigint) => ({ fence, at: Number(fence), watermarks: new Map() });

    expect(seen()).toEqual([
      [second, { 'seen:b': '2' }],
      [bare(2n), {}],
    ]);
    simulation.forget(1);
    expect(seen()).toEqual([
      [second, { 'seen:b': '2' }],
      [bare(1n), { 'seen:a': '"other"' }],
    ]);
    expect(simulation.timers(slot)).toEqual(new Map());
    simulation.forget(1);
    expect(seen()).toEqual([
      [first, { 'seen:a': '1' }],
      [bare(1n), { 'seen:a': '"other"' }],
    ]);
    expect([...simulation.timers(slot).keys()]).toEqual(['t']);
    simulation.forget(Number.POSITIVE_INFINITY);
    const empty = { fence: -1n, at: 0, watermarks: new Map() };
    expect(seen()).toEqual([
      [empty, {}],
      [empty, {}],
    ]);
    expect(simulation.timers(slot)).toEqual(new Map());
  });

  test('an operation that fails has had its effect or not', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 60; seed++) {
      const simulation = createSimulation({ seed, faults: { storeFails: 0.5 } });
      const { store } = simulation.process('a');
      const answer = store.save(slot, -1n, save(1n)).then(
        (saved) => saved.type,
        (cause: BusError) => cause.code,
      );
      await simulation.run();
      outcomes.add(`${await answer} ${simulation.position(slot).fence}`);
    }
    expect(outcomes).toEqual(new Set(['saved 1', 'infrastructure-unavailable 1', 'infrastructure-unavailable -1']));
  });
});

describe('the log', () => {
  test('can lose its oldest records, as retention does', async () => {
    const simulation = createSimulation({ seed: 2 });
    simulation.createTopics([{ name: 'in', partitions: 1 }]);
    const { bus } = simulation.process('a');
    void bus.produce(['a', 'b', 'c'].map((text) => record('in', 0, text)));
    await simulation.run();
    simulation.truncate('in', 0, 2n);
    const owner = recordingOwner();
    void bus.join('group', 'in', owner);
    await simulation.run({ quietMs: 100 });
    expect(owner.firstAssigned(0)).toEqual({ type: 'assigned', partition: 0, committed: 0n, start: 2n });
    expect(owner.texts(0)).toEqual(['c']);
    const [offsets, reset] = [bus.offsets('in'), bus.offsetAt('in', 0, 0)];
    await simulation.run({ quietMs: 100 });
    expect([await offsets, await reset]).toEqual([[{ start: 2n, end: 3n }], 2n]);
  });
});

describe('the registry', () => {
  test('knows in every process what was registered from above', async () => {
    const simulation = createSimulation({ seed: 4 });
    const id = simulation.register('in-value', '{"type":"string"}');
    const { registry } = simulation.process('a');
    const answers = Promise.all([registry.idOf('in-value', '{"type":"string"}'), registry.lookUp(id)]);
    await simulation.run();
    expect(await answers).toEqual([id, { type: 'known', subject: 'in-value' }]);
  });
});

describe('under the scheduler', () => {
  const simulation = createSimulation({ seed: 11 });
  const stopped = new AbortController();
  let running = Promise.resolve();

  beforeAll(() => {
    const ticker = simulation.process('ticker');
    void (async () => {
      for (;;) await ticker.clock.sleep(50);
    })();
    running = (async () => {
      while (!stopped.signal.aborted) {
        await simulation.run({ steps: 200, quietMs: 100 });
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
  });
  afterAll(async () => {
    stopped.abort();
    await running;
  });

  busContract('simulated', { connect: async () => simulation.process('contract').bus, now: simulation.now });
  storeContract('simulated', async () => simulation.process('contract').store);
  schemaRegistryContract('simulated', async () => simulation.process('contract').registry);
});

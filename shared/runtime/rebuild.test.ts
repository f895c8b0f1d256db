import { describe, expect, test } from 'vitest';
import { type Ask, counting } from '../testing/counting-stage.ts';
import { type CountingProcess, countingWorld, runtimeWith } from '../testing/counting-world.ts';
import { runUntil, settle } from '../testing/settle.ts';
import { silentLog } from './log.ts';
import { performCall } from './perform-call.ts';
import { abandonRebuild, type RebuildOptions, type RebuildStep, type Rebuilt, rebuildStage } from './rebuild.ts';
import { runStage } from './run-stage.ts';

const count = (key: string, emit = 0): Ask => ({ type: 'count', key, emit });
const runtime = runtimeWith({ batchRecords: 3, fenceCheckMs: 500 });

/** A world whose one partition was handled by a stage that has stopped since. */
async function handled(...asked: readonly Ask[]) {
  const world = await countingWorld();
  const { simulation } = world;
  const options = (mine: CountingProcess) => ({
    ...{ stage: counting, settings: {}, tables: {}, runtime, parallel: 1, graceMs: 10, ...mine },
  });
  const rebuild = (
    mine: CountingProcess,
    steps: RebuildStep[] = [],
    more: Partial<RebuildOptions> = {},
  ): Promise<Rebuilt> => rebuildStage({ ...options(mine), onStep: (step) => void steps.push(step), ...more });
  const run = async () => {
    const mine = await world.start();
    const observer = { folded: () => undefined, batch: () => undefined, reopened: () => undefined };
    const starting = runStage({ ...options(mine), perform: performCall, log: silentLog, observer });
    return settle(simulation, starting);
  };
  const at = { stage: 'counting', partition: 0 };
  const slot = (generation: number) => ({ ...at, generation });
  const fence = (generation = simulation.generations(at).inUse) => simulation.position(slot(generation)).fence;
  await world.ask(...asked);
  if (asked.length > 0) {
    const stage = await run();
    await runUntil(simulation, () => fence() === BigInt(asked.length - 1));
    await settle(simulation, stage.stop());
  }
  world.log.length = 0;
  return { ...world, at, slot, fence, run, rebuild, options };
}

const asked: readonly Ask[] = [
  count('a', 1),
  count('b'),
  { type: 'remind', key: 'a', inMs: 3_600_000 },
  { type: 'throw', key: 'a' },
  count('a', 1),
  { type: 'forget', key: 'b' },
  { type: 'reject', key: 'c' },
  count('d'),
];

describe('a rebuild', () => {
  test('gives the same rows and timers, sends nothing, and leaves nothing of what was before', async () => {
    const world = await handled(...asked);
    const { simulation, at, slot } = world;
    const [rows, timers] = [simulation.rows(slot(1)), simulation.timers(slot(1))];
    expect([rows.size, timers.size]).toEqual([2, 1]);
    const steps: RebuildStep[] = [];
    const rebuilt = await settle(simulation, world.rebuild(await world.start(), steps));
    expect(rebuilt).toMatchObject({
      ...{ stage: 'counting', generation: 2, resumed: false, partitions: 1, records: 8, shortened: [] },
      removed: 3,
    });
    expect(simulation.generations(at)).toEqual({ inUse: 2, draft: undefined, previous: undefined, newest: 2 });
    expect([simulation.rows(slot(2)), simulation.timers(slot(2))]).toEqual([rows, timers]);
    expect([simulation.rows(slot(1)).size, world.fence(1), world.fence(2)]).toEqual([0, -1n, 7n]);
    expect(world.log.filter((line) => line.startsWith('produce'))).toEqual([]);
    const types = steps.map(({ type }) => type).filter((type) => type !== 'folding');
    expect(types).toEqual(['began', 'switched', 'removing']);
  });

  test('that was killed goes on where it stood', async () => {
    const world = await handled(...Array.from({ length: 30 }, () => count('a')));
    const { simulation } = world;
    const first = await world.start('rebuild');
    void world.rebuild(first);
    await runUntil(simulation, () => world.fence(2) >= 8n);
    first.process.kill();
    const second = await world.start();
    // What was on its way to the store when it was killed has come there.
    const reached = world.fence(2);
    expect(reached).toBeLessThan(29n);
    const steps: RebuildStep[] = [];
    const rebuilt = await settle(simulation, world.rebuild(second, steps));
    expect(rebuilt).toMatchObject({ generation: 2, resumed: true, records: Number(29n - reached) });
    expect(steps[0]).toEqual({ type: 'resumed', generation: 2 });
    expect(simulation.rows(world.slot(2))).toEqual(new Map([['counts:a', '{"v":{"count":30}}']]));
  });

  test('asks for no row that it has not saved itself, but for those of the part that one before it built', async () => {
    const world = await handled(...Array.from({ length: 30 }, (_, index) => count(`key-${index % 10}`)));
    const { simulation } = world;
    const asked: string[] = [];
    const spying = async (): Promise<CountingProcess> => {
      const mine = await world.start('rebuild');
      const view: CountingProcess['store']['view'] = (slot, wanted) => {
        asked.push(...wanted.rows);
        return mine.store.view(slot, wanted);
      };
      return { ...mine, store: { ...mine.store, view } };
    };
    const options = { runtime: { ...runtime, cacheRows: 0 } };
    const first = await spying();
    void world.rebuild(first, [], options);
    await runUntil(simulation, () => world.fence(2) >= 5n);
    expect(asked).toEqual([]);
    first.process.kill();
    await settle(simulation, world.rebuild(await spying(), [], options));
    expect(asked).toContain('counts:key-9');
    expect(simulation.rows(world.slot(2))).toEqual(
      new Map(Array.from({ length: 10 }, (_, index) => [`counts:key-${index}`, '{"v":{"count":3}}'])),
    );
  });

  test('does not fold what the live stage has not handled: that is emitted afterwards, once', async () => {
    const world = await handled(count('a', 1), count('a', 1));
    const { simulation } = world;
    await world.ask(count('a', 1));
    await settle(simulation, world.rebuild(await world.start()));
    expect(world.fence(2)).toBe(1n);
    await world.run();
    await runUntil(simulation, () => world.fence(2) === 2n);
    expect(simulation.records('counted').flat()).toHaveLength(3);
  });

  test('is taken over by the owner of an idle partition, which finds that its generation is retired', async () => {
    const world = await handled();
    const { simulation } = world;
    await world.ask(count('a', 1));
    await world.run();
    await runUntil(simulation, () => world.fence() === 0n);
    await settle(simulation, world.rebuild(await world.start('rebuild')));
    const later = simulation.now() + 2 * runtime.fenceCheckMs;
    await runUntil(simulation, () => simulation.now() >= later);
    await world.ask(count('a', 1));
    await runUntil(simulation, () => world.fence(2) === 1n);
    expect(simulation.rows(world.slot(2))).toEqual(new Map([['counts:a', '{"v":{"count":2}}']]));
    expect(simulation.records('counted').flat()).toHaveLength(2);
  });

  test('begins at what is kept, says so, and lets a stage go on that had a gap', async () => {
    const world = await handled(count('a'), count('a'), count('a'));
    const { simulation } = world;
    await world.ask(count('a'), count('a'), count('b', 1));
    simulation.truncate('asks', 0, 5n);
    const rebuilt = await settle(simulation, world.rebuild(await world.start()));
    expect(rebuilt).toMatchObject({ records: 0, shortened: [0] });
    expect(world.fence()).toBe(4n);
    await world.run();
    await runUntil(simulation, () => world.fence() === 5n);
    expect([...simulation.rows(world.slot(2))]).toEqual([['counts:b', '{"v":{"count":1}}']]);
  });

  test('of a stage that never ran, and of a topic without records, is over at once', async () => {
    const world = await handled();
    expect(await settle(world.simulation, world.rebuild(await world.start()))).toMatchObject({
      generation: 2,
      records: 0,
    });
    expect(world.simulation.generations(world.at).inUse).toBe(2);
  });
});

describe('to abandon', () => {
  test('that was interrupted leaves a draft in some partitions, which the next rebuild replaces', async () => {
    const world = await countingWorld({ partitions: 2 });
    const { simulation } = world;
    const mine = await world.start();
    const at = (partition: number) => ({ stage: 'counting', partition });
    for (const partition of [0, 1]) {
      await settle(simulation, mine.store.generations(at(partition), { do: 'begin', generation: 2 }));
    }
    await settle(simulation, mine.store.generations(at(0), { do: 'abandon', generation: 2 }));
    const options = { stage: counting, settings: {}, tables: {}, runtime, parallel: 2, graceMs: 10 };
    const rebuilding = rebuildStage({ ...options, ...mine, onStep: () => undefined });
    expect(await settle(simulation, rebuilding)).toMatchObject({ generation: 3, resumed: false });
    const rebuilt = { inUse: 3, draft: undefined, previous: undefined, newest: 3 };
    expect([0, 1].map((partition) => simulation.generations(at(partition)))).toEqual([rebuilt, rebuilt]);
  });

  test('removes what was built, and the rebuild that sleeps on can write no more', async () => {
    const world = await handled(...Array.from({ length: 30 }, () => count('a')));
    const { simulation } = world;
    const first = await world.start('rebuild');
    const rebuilding = world.rebuild(first).catch((error: unknown) => error);
    await runUntil(simulation, () => world.fence(2) >= 8n);
    first.process.freeze();
    const mine = await world.start();
    expect(await settle(simulation, abandonRebuild(world.options(mine)))).toEqual({ abandoned: 1, removed: 1 });
    expect(simulation.generations(world.at)).toEqual({ inUse: 1, draft: undefined, previous: undefined, newest: 2 });
    first.process.resume();
    expect(await settle(simulation, rebuilding)).toMatchObject({ code: 'rebuild-abandoned' });
    expect([world.fence(1), world.fence(2)]).toEqual([29n, -1n]);
    expect(await settle(simulation, world.rebuild(mine))).toMatchObject({ generation: 3, resumed: false, records: 30 });
  });

  test('is refused once it is in use and readers have not left the state before', async () => {
    const world = await handled(count('a'));
    const { simulation } = world;
    const { store, ...mine } = await world.start();
    await settle(simulation, store.generations(world.at, { do: 'begin', generation: 2 }));
    await settle(simulation, store.generations(world.at, { do: 'adopt', generation: 2 }));
    const refused = abandonRebuild(world.options({ ...mine, store })).catch((error: unknown) => error);
    expect(await settle(simulation, refused)).toMatchObject({ code: 'rebuild-adopted', details: { partition: 0 } });
    const rebuilt = await settle(simulation, world.rebuild({ ...mine, store }));
    expect(rebuilt).toMatchObject({ generation: 2, resumed: true, records: 1 });
    expect(world.counts()).toEqual({});
    expect([...simulation.rows(world.slot(2))]).toEqual([['counts:a', '{"v":{"count":1}}']]);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Checked, checkLoad, takeSnapshot } from '../e2e/checker/check.ts';
import { githubLoad } from '../e2e/load.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { type Progress, watchProgress } from './progress.ts';
import { untilAtRest } from './rest.ts';
import { type ChaosWorld, openChaosWorld } from './world.ts';

const restMs = 60_000;
const entry = fileURLToPath(new URL('stage-without-guard.ts', import.meta.url));
let world: ChaosWorld;
let progress: Progress;
const fleets: Fleet[] = [];
const lone = new Set<ChildProcess>();

beforeAll(async () => {
  world = await openChaosWorld(() => undefined);
  progress = await watchProgress(world.infrastructure);
});
afterAll(async () => {
  for (const child of lone) child.kill('SIGKILL');
  await Promise.all(fleets.map((fleet) => fleet.stop()));
  await progress.close();
  await world.close();
});

type Guard = 'nothing' | 'fence' | 'watermarks' | 'one-in-flight';

/** Starts one stage with a guard switched off; the broker and the proxy know it by its name. */
function startLone(
  stage: string,
  without: Guard,
  requestBytes = 900_000,
): { readonly name: string; readonly child: ChildProcess } {
  const name = `${stage}-without-${without}`;
  const child = spawn(process.execPath, [entry, JSON.stringify({ stage, without, requestBytes })], {
    env: { PATH: process.env.PATH, ...world.settings, KAFKA_CLIENT_ID: name, SIGNALBOX_SECRET_KEYS: undefined },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  lone.add(child);
  return { name, child };
}

/** Plays one story with facts of its own, ends all processes, and checks. */
async function play(
  story: string,
  tell: (stage: {
    readonly fleet: Fleet;
    readonly publish: (facts: number) => Promise<void>;
    readonly rest: () => Promise<void>;
  }) => Promise<void>,
): Promise<Checked> {
  const load = { ...world.load, mark: `${world.load.mark}-${story}` };
  const records = githubLoad({ mark: load.mark, connectionId: load.connectionId, facts: 1_000, channels: 12, seed: 5 });
  const fleet = createFleet({ settings: world.settings, say: () => undefined });
  fleets.push(fleet);
  let published = 0;
  await tell({
    fleet,
    async publish(facts) {
      await world.client.publish('raw-provider-facts', records.slice(published, published + facts));
      published += facts;
    },
    rest: () => untilAtRest(world.client, progress, restMs),
  });
  for (const child of lone) {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }
  lone.clear();
  await fleet.stop();
  return checkLoad(await takeSnapshot(world.infrastructure, load.mark), load);
}

/** A stage is frozen while the broker answers its send, and goes on when another one has done all of its work. */
const zombie = (without: Guard): Promise<Checked> =>
  play(`zombie-${without}`, async ({ fleet, publish, rest }) => {
    fleet.add(['normalizer', 'filter', 'decision-journal']);
    const { name, child } = startLone('mirror-projector', without);
    await publish(200);
    await rest();
    const met = world.proxy.add({ api: 'Produce', clientId: name, nth: 1, mischief: { do: 'hold', ms: 300 } });
    await publish(600);
    await met;
    child.kill('SIGSTOP');
    fleet.add(['mirror-projector']);
    await rest();
    child.kill('SIGCONT');
    // Its answer lies there; what it does of it is done before it learns that it was away.
    await vi.waitUntil(() => child.exitCode === null && child.signalCode === null);
    await publish(50);
    await rest();
  });

/** The answer to a send is lost, so that it is sent again, to a stage that reads it. */
const repeat = (without: Guard): Promise<Checked> =>
  play(`repeat-${without}`, async ({ fleet, publish, rest }) => {
    const { name } = fleet.add(['normalizer', 'mirror-projector', 'decision-journal']);
    startLone('filter', without);
    await publish(100);
    await rest();
    const met = world.proxy.add({ api: 'Produce', clientId: name, nth: 1, mischief: { do: 'cut' } });
    await publish(200);
    await met;
    await rest();
  });

/** The first of the requests that a batch needs is lost, and is sent again when it is missed. */
const overtaken = (without: Guard): Promise<Checked> =>
  play(`overtaken-${without}`, async ({ fleet, publish, rest }) => {
    fleet.add(['filter', 'mirror-projector', 'decision-journal']);
    const { name } = startLone('normalizer', without, 4_000);
    await publish(100);
    await rest();
    const met = world.proxy.add({ api: 'Produce', clientId: name, nth: 1, mischief: { do: 'lose' } });
    await publish(500);
    await met;
    await rest();
  });

const stories = [
  { guard: 'fence', name: 'a zombie that writes late', tell: zombie },
  { guard: 'watermarks', name: 'a send whose answer was lost', tell: repeat },
  { guard: 'one-in-flight', name: 'a send that was lost while the next one left', tell: overtaken },
] as const;

test.each(stories)('$name does no harm', async ({ tell }) => {
  const { problems, counts } = await tell('nothing');
  expect(problems).toEqual([]);
  expect(counts.raw).toBeGreaterThan(0);
});

test.each(stories)('$name does harm without the guard: $guard', async ({ guard, tell }) => {
  expect((await tell(guard)).problems).not.toEqual([]);
});

test('a copy that is told to stop while its join goes unanswered ends by itself', async () => {
  const fleet = createFleet({ settings: world.settings, say: () => undefined });
  fleets.push(fleet);
  const met = world.proxy.add({ api: 'JoinGroup', nth: 1, mischief: { do: 'silence' } });
  const copy = fleet.add(['decision-journal']);
  await met;
  await fleet.stop();
  expect(await copy.ended).toMatchObject({ code: 0, signal: null });
});

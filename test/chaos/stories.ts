import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { type Checked, checkLoad, takeSnapshot } from '../e2e/checker/check.ts';
import { checkConversations } from '../e2e/checker/conversations.ts';
import { githubLoad } from '../e2e/load.ts';
import { configureTalk, directMessage, patientTalk } from '../e2e/talk-routes.ts';
import { settingsOf } from '../integration/signalbox.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { watchProgress } from './progress.ts';
import { refoldConversations } from './refold-conversations.ts';
import { untilAtRest } from './rest.ts';
import type { ChaosWorld } from './world.ts';

/** A part of the scheme that can be switched off, in a stage of its own. */
export type Guard = 'nothing' | 'fence' | 'watermarks' | 'timers' | 'one-in-flight';

/** Tells a story, with one stage that goes without a guard, and checks what came of it. */
export type Story = (without: Guard) => Promise<Checked>;

/** Stories in a world, each about what one guard is for, and fleets for others. */
export interface Stories {
  readonly zombie: Story;
  readonly repeat: Story;
  readonly overtaken: Story;
  readonly orphan: Story;
  /** An empty fleet, ended with the stories. */
  readonly fleet: () => Fleet;
  readonly close: () => Promise<void>;
}

const restMs = 60_000;
const partingMs = 3_000;
const entry = fileURLToPath(new URL('stage-without-guard.ts', import.meta.url));
// The group is asked whether all is done: the sooner it is told, the less is waited.
const commitMs = 200;

/** Makes them; they are told one after another. */
export async function openStories(world: ChaosWorld): Promise<Stories> {
  const progress = await watchProgress(world.infrastructure);
  const fleets: Fleet[] = [];
  const lone = new Set<ChildProcess>();

  const openFleet = (): Fleet => {
    const settings = { ...world.settings, RUNTIME_COMMIT_MS: String(commitMs) };
    const fleet = createFleet({ settings, say: () => undefined });
    fleets.push(fleet);
    return fleet;
  };

  /** Starts one stage with a guard switched off; the broker and the proxy know it by its name. */
  const startLone = (
    stage: string,
    without: Guard,
    requestBytes = 900_000,
  ): { readonly name: string; readonly child: ChildProcess } => {
    const name = `${stage}-without-${without}`;
    const child = spawn(process.execPath, [entry, JSON.stringify({ stage, without, requestBytes, commitMs })], {
      env: { PATH: process.env.PATH, ...world.settings, KAFKA_CLIENT_ID: name, SIGNALBOX_SECRET_KEYS: undefined },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    lone.add(child);
    return { name, child };
  };

  /** It leaves its group, which the next story would wait for otherwise. */
  const endLone = async (child: ChildProcess): Promise<void> => {
    lone.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), partingMs);
    await exit;
    clearTimeout(late);
  };

  const rest = (): Promise<void> => untilAtRest(world.client, progress, restMs);

  /** Waits until one of a stage has its partitions: what is said then is handled at once. */
  const joined = (stage: string): Promise<unknown> =>
    vi.waitUntil(async () => (await world.client.owners(stage))?.size === 1, { timeout: restMs });

  /** Plays one story with facts of its own, ends all processes, and checks. */
  const play = async (
    story: string,
    tell: (stage: { readonly fleet: Fleet; readonly publish: (facts: number) => Promise<void> }) => Promise<void>,
  ): Promise<Checked> => {
    const load = { ...world.load, mark: `${world.load.mark}-${story}` };
    const records = githubLoad({ ...load, facts: 1_000, channels: 12, seed: 5 });
    const fleet = openFleet();
    let published = 0;
    await tell({
      fleet,
      async publish(facts) {
        await world.client.publish('raw-provider-facts', records.slice(published, published + facts));
        published += facts;
      },
    });
    await Promise.all([...[...lone].map(endLone), fleet.stop()]);
    return checkLoad(await takeSnapshot(world.infrastructure, load.mark), load);
  };

  /** The same with one direct message, which its route lets wait for a while. */
  const playTalk = async (
    story: string,
    tell: (stage: { readonly fleet: Fleet; readonly say: () => Promise<void> }) => Promise<void>,
  ): Promise<Checked> => {
    const talk = patientTalk(`${world.talk.mark}-${story}`);
    await configureTalk(settingsOf(world.infrastructure), world.client, talk);
    const fleet = openFleet();
    await tell({ fleet, say: () => world.client.publish('raw-provider-facts', [directMessage(talk)]) });
    await Promise.all([...[...lone].map(endLone), fleet.stop()]);
    const snapshot = await takeSnapshot(world.infrastructure, talk.mark);
    const { problems, counts } = checkConversations(snapshot, talk);
    return { problems: [...problems, ...refoldConversations(snapshot, talk.mark)], counts };
  };

  return {
    /** A stage is frozen while the broker answers its send, and goes on when another one has done all of its work. */
    zombie: (without) =>
      play(`zombie-${without}`, async ({ fleet, publish }) => {
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
      }),

    /** The answer to a send is lost, so that it is sent again, to a stage that reads it. */
    repeat: (without) =>
      play(`repeat-${without}`, async ({ fleet, publish }) => {
        const { name } = fleet.add(['normalizer', 'mirror-projector', 'decision-journal']);
        startLone('filter', without);
        await publish(100);
        await rest();
        const met = world.proxy.add({ api: 'Produce', clientId: name, nth: 1, mischief: { do: 'cut' } });
        await publish(200);
        await met;
        await rest();
      }),

    /** The first of the requests that a batch needs is lost, and is sent again when it is missed. */
    overtaken: (without) =>
      play(`overtaken-${without}`, async ({ fleet, publish }) => {
        fleet.add(['filter', 'mirror-projector', 'decision-journal']);
        const { name } = startLone('normalizer', without, 4_000);
        await publish(100);
        await rest();
        const met = world.proxy.add({ api: 'Produce', clientId: name, nth: 1, mischief: { do: 'lose' } });
        await publish(500);
        await met;
        await rest();
      }),

    /**
     * The owner of a timer dies while what it sends of it is on the way; the next owner sends it too, and closes the batch;
     * then what the first one sent arrives.
     */
    orphan: (without) =>
      playTalk(`orphan-${without}`, async ({ fleet, say }) => {
        fleet.add(['normalizer', 'filter', 'decision-journal']);
        const owner = fleet.add(['mirror-projector']);
        for (const stage of ['normalizer', 'filter', 'mirror-projector']) await joined(stage);
        await say();
        await vi.waitUntil(() => progress.timers() > 0, { timeout: restMs });
        const met = world.proxy.add({
          ...{ api: 'Produce', clientId: owner.name, nth: 1 },
          mischief: { do: 'hold', ms: restMs },
        });
        await met;
        await fleet.end(owner, 'SIGKILL');
        startLone('mirror-projector', without);
        await rest();
        const held = await world.client.held('accepted-facts');
        world.proxy.calm();
        await vi.waitUntil(async () => (await world.client.held('accepted-facts')) > held, { timeout: restMs });
        await rest();
      }),

    fleet: openFleet,

    async close() {
      for (const child of lone) child.kill('SIGKILL');
      await Promise.all(fleets.map((fleet) => fleet.stop()));
      await progress.close();
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { checkLoad, type Snapshot, takeSnapshot } from '../e2e/checker/check.ts';
import { checkConversations } from '../e2e/checker/conversations.ts';
import { pipelineStages } from '../e2e/kafka.ts';
import { githubLoad } from '../e2e/load.ts';
import { talkLoad } from '../e2e/talk.ts';
import { createFleet } from './fleet.ts';
import { createInflictor } from './inflict.ts';
import { watchProgress } from './progress.ts';
import { refoldConversations } from './refold-conversations.ts';
import { untilAtRest } from './rest.ts';
import { nameOf, scheduleOf } from './schedule.ts';
import type { ChaosWorld } from './world.ts';

/** How a run is made. */
export interface ChaosOptions {
  readonly world: ChaosWorld;
  readonly seed: number;
  readonly facts: number;
  readonly faults: number;
  /** The time in which the faults happen. */
  readonly timeMs: number;
  /** How long the calm after them may take. */
  readonly calmMs: number;
  /** What a process runs; of each such process there are at least three. */
  readonly processes: readonly (readonly string[])[];
  readonly say: (text: string) => void;
}

/** What came of it. */
export interface ChaosReport {
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  /** What became of the conversations. */
  readonly talk: Readonly<Record<string, number>>;
  /** What the check of the conversations read. */
  readonly told: Snapshot;
  /** Faults that happened, by kind. */
  readonly faults: Readonly<Record<string, number>>;
  readonly deadLetters: number;
  /** How often copies could not go on, by reason. */
  readonly ownEnds: Readonly<Record<string, number>>;
  readonly badStops: readonly string[];
  /** Stops that were given up since a broker was away or an answer was held: told, and not wrong here. */
  readonly cutStops: readonly string[];
  readonly lateStops: readonly string[];
  /** Until every partition had gone on, in seconds: median and most, by what had happened. */
  readonly movedAgain: Readonly<
    Record<string, { readonly times: number; readonly median: number; readonly most: number }>
  >;
  readonly settledMs: number;
}

const copies = 3;
const stages = pipelineStages.map(({ stage }) => stage);
const chunk = 20;
/** One in so many facts is said in a conversation; few come at once, so that some find what they belong to waiting. */
const [talkShare, talkChunk] = [3, 4];

type Records = Parameters<ChaosWorld['client']['publish']>[1];

/** Has facts flow while faults happen; then lets it come to rest and compares. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { world, seed, timeMs, say } = options;
  const { infrastructure, client, proxy, load, talk } = world;
  const progress = await watchProgress(infrastructure);
  const fleet = createFleet({ settings: world.settings, say });
  try {
    /** Publishes until the log has it: with the broker away that may take a while, and some may be there twice. */
    const publish = async (all: Records): Promise<void> => {
      for (;;) {
        try {
          return await client.publish('raw-provider-facts', all);
        } catch {
          // The broker is away, or its answer was lost: the facts are sent again, as publishers do.
          await delay(500);
        }
      }
    };
    for (const services of options.processes) {
      for (let copy = 0; copy < copies; copy++) fleet.add(services);
    }
    const said = Math.floor(options.facts / talkShare);
    const records = githubLoad({ ...load, facts: options.facts - said, channels: 50, seed });
    const messages = talkLoad({ ...talk, facts: said, channels: 24, seed });
    // The first facts are through before the first fault, so that there is something to disturb.
    await publish(records.slice(0, chunk));
    await untilAtRest(client, progress, options.calmMs);
    say(
      `${options.processes.length * copies} processes run; ${options.facts} facts and ${options.faults} faults begin`,
    );

    const startedAt = performance.now();
    const { inflict } = createInflictor({ world, fleet, progress, copies, everyStage: stages });
    const happened = new Map<string, number>();
    const faulty = scheduleOf(options).map(async ({ atMs, fault }, index) => {
      await delay(Math.max(0, atMs - (performance.now() - startedAt)));
      const title = `#${index + 1} ${nameOf(fault)}`;
      let told = false;
      const whom = await inflict(fault, (words) => {
        told = true;
        say(`${title}: ${words}`);
      });
      if (whom !== undefined) happened.set(nameOf(fault), (happened.get(nameOf(fault)) ?? 0) + 1);
      if (!told) say(`${title}: ${whom ?? 'met nobody'}`);
    });
    /** Publishes evenly over the time, a few at once. */
    const flow = async (all: Records, first: number, atOnce: number): Promise<void> => {
      for (let at = first; at < all.length; at += atOnce) {
        await delay(Math.max(0, (at / all.length) * timeMs - (performance.now() - startedAt)));
        await publish(all.slice(at, at + atOnce));
      }
    };
    await Promise.all([flow(records, chunk, chunk), flow(messages, 0, talkChunk)]);
    await delay(Math.max(0, timeMs - (performance.now() - startedAt)));

    proxy.calm();
    await Promise.all(faulty);
    world.registryGate.open();
    say('calm');
    const calmAt = performance.now();
    await untilAtRest(client, progress, options.calmMs);
    const settledMs = performance.now() - calmAt;
    say(`settled after ${(settledMs / 1_000).toFixed(1)} s`);
    await fleet.stop();

    const snapshot = await takeSnapshot(infrastructure, load.mark);
    const told = await takeSnapshot(infrastructure, talk.mark);
    const [comments, conversations] = [checkLoad(snapshot, load), checkConversations(told, talk)];
    return {
      problems: [...comments.problems, ...conversations.problems, ...refoldConversations(told, talk.mark)],
      counts: comments.counts,
      talk: conversations.counts,
      told,
      faults: Object.fromEntries([...happened].toSorted()),
      deadLetters: snapshot.log.get('dead-letters')?.length ?? 0,
      ownEnds: Object.fromEntries(fleet.ownEnds),
      badStops: fleet.badStops,
      cutStops: fleet.cutStops,
      lateStops: fleet.lateStops,
      movedAgain: Object.fromEntries([...progress.times].map(([what, times]) => [what, summary(times)])),
      settledMs,
    };
  } finally {
    await fleet.stop();
    await progress.close();
  }
}

function summary(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b).map((ms) => Math.round(ms / 100) / 10);
  return { times: sorted.length, median: sorted[Math.floor(sorted.length / 2)] ?? 0, most: sorted.at(-1) ?? 0 };
}

import { setTimeout as delay } from 'node:timers/promises';
import { checkLoad, takeSnapshot } from '../e2e/checker/check.ts';
import { pipelineStages } from '../e2e/kafka.ts';
import { githubLoad } from '../e2e/load.ts';
import { createFleet } from './fleet.ts';
import { createInflictor } from './inflict.ts';
import { watchProgress } from './progress.ts';
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

/** Has facts flow while faults happen; then lets it come to rest and compares. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { world, seed, timeMs, say } = options;
  const { infrastructure, client, proxy, load } = world;
  const progress = await watchProgress(infrastructure);
  const fleet = createFleet({ settings: world.settings, say });
  try {
    for (const services of options.processes) {
      for (let copy = 0; copy < copies; copy++) fleet.add(services);
    }
    const records = githubLoad({
      mark: load.mark,
      connectionId: load.connectionId,
      facts: options.facts,
      channels: 50,
      seed,
    });
    // The first facts are through before the first fault, so that there is something to disturb.
    await publish(client, records.slice(0, chunk));
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
    const publishing = (async () => {
      for (let at = chunk; at < records.length; at += chunk) {
        await delay(Math.max(0, (at / records.length) * timeMs - (performance.now() - startedAt)));
        await publish(client, records.slice(at, at + chunk));
      }
    })();
    await publishing;
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
    const { problems, counts } = checkLoad(snapshot, load);
    return {
      problems,
      counts,
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

/** Publishes until the log has it: with the broker away that may take a while, and some may be there twice. */
async function publish(
  client: ChaosWorld['client'],
  records: Parameters<ChaosWorld['client']['publish']>[1],
): Promise<void> {
  for (;;) {
    try {
      return await client.publish('raw-provider-facts', records);
    } catch {
      // The broker is away, or its answer was lost: the facts are sent again, as publishers do.
      await delay(500);
    }
  }
}

function summary(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b).map((ms) => Math.round(ms / 100) / 10);
  return { times: sorted.length, median: sorted[Math.floor(sorted.length / 2)] ?? 0, most: sorted.at(-1) ?? 0 };
}

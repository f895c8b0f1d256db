import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { median } from '../bench/measure.ts';
import { createResults, type Results } from '../bench/results.ts';
import { type Copy, createFleet, type Fleet } from '../chaos/fleet.ts';
import { watchProgress } from '../chaos/progress.ts';
import { untilAtRest } from '../chaos/rest.ts';
import { checkLoad, type Load, pipelineTopics, takeSnapshot } from '../e2e/checker/check.ts';
import { connectOutside, type OutsideClient, pipelineStages } from '../e2e/kafka.ts';
import { tellsOfComment } from '../e2e/load.ts';
import { createPlaceReader } from '../e2e/places.ts';
import { configureRoutes, secretKeys, threeRoutes } from '../e2e/routes.ts';
import { startStream } from '../e2e/stream.ts';
import { runTool, type Workplace } from '../harness/run-tool.ts';
import { settingsOf } from '../integration/signalbox.ts';
import { isShared } from '../takeover/handover.ts';
import { type Chapters, createChapters } from './chapters.ts';
import { judgeGrowth } from './growth.ts';
import { restartsOf } from './restarts.ts';
import { createSampling, type Samples } from './sampling.ts';
import type { Point } from './slope.ts';

const count = (otherwise: number) => z.coerce.number().int().min(1).default(otherwise);
const given = z
  .object({
    SEED: z.coerce.number().int().min(0).max(4_294_967_295).optional(),
    TIME_MS: count(1_800_000),
    WARM_UP_MS: count(180_000),
    RATE: count(500),
    RESTART_MS: count(60_000),
    COPIES: count(2).pipe(z.number().min(2)),
    SAMPLE_MS: count(5_000),
    GROWTH_PERCENT: count(10),
    CHAPTER_FACTS: count(100_000),
  })
  .parse(process.env);
const { TIME_MS: timeMs, RATE: rate, RESTART_MS: restartMs, COPIES, SAMPLE_MS: sampleMs } = given;
const seed = given.SEED ?? randomInt(1_000_000);
// Of a short run, a quarter has to do.
const warmUpMs = Math.min(given.WARM_UP_MS, timeMs / 4);
const [partitions, channels] = [12, 100];
const [joinMs, betweenLooksMs, restMs, wordMs, mostProblems] = [120_000, 500, 300_000, 15_000, 20];
const stages = pipelineStages.map(({ stage }) => stage);

type Context = Pick<Workplace, 'report' | 'signal'> & { readonly fleet: Fleet };

/** Starts the copies of all stages, of each one that lasts and others that are restarted in turn, and waits for them. */
async function startCopies({ fleet, report, signal }: Context, client: OutsideClient) {
  const lasting = stages.map((stage) => fleet.add([stage]));
  const others = (stage: string): Copy[] => Array.from({ length: COPIES - 1 }, () => fleet.add([stage]));
  const turns = new Map(stages.map((stage): [string, Copy[]] => [stage, others(stage)]));
  const areJoined = async (): Promise<boolean> => {
    const owners = await Promise.all(stages.map((stage) => client.owners(stage)));
    return owners.every((each) => isShared(each, { members: COPIES, partitions }));
  };
  for (const limit = performance.now() + joinMs; !(await areJoined()); ) {
    if (performance.now() > limit) throw new Error(`not all copies have joined after ${joinMs} ms`);
    await delay(betweenLooksMs, undefined, { signal });
  }
  report(`${fleet.running().length} processes run; one restart every ${restartMs / 1_000} s`);
  return { lasting, turns };
}

/** Restarts copies as planned, until the time is over; those of the list alone, in turn. */
async function restart({ fleet, report, signal: over }: Context, turns: Map<string, Copy[]>): Promise<void> {
  const startedAt = performance.now();
  for (const { atMs, stage, signal } of restartsOf({ timeMs, restartMs, stages })) {
    await delay(Math.max(0, atMs - (performance.now() - startedAt)), undefined, { signal: over });
    const copy = turns.get(stage)?.shift();
    if (copy === undefined) throw new Error(`no copy of ${stage} is left to restart`);
    const at = performance.now();
    await fleet.end(copy, signal);
    over.throwIfAborted();
    const next = fleet.add(copy.services);
    turns.get(stage)?.push(next);
    report(`${signal} to ${copy.name}, gone after ${Math.round(performance.now() - at)} ms; ${next.name} comes`);
  }
}

/** Takes samples until the time is over, with a word now and then. */
async function watch({ report, signal }: Context, samples: Samples, words: () => string): Promise<void> {
  const startedAt = performance.now();
  let wordAt = 0;
  for (let atMs = 0; atMs < timeMs; atMs += sampleMs) {
    await delay(Math.max(0, atMs - (performance.now() - startedAt)), undefined, { signal });
    await samples.take(performance.now() - startedAt);
    if (atMs < wordAt) continue;
    wordAt += wordMs;
    report(words());
  }
  await delay(Math.max(0, timeMs - (performance.now() - startedAt)), undefined, { signal });
}

/** Tells what was seen around the processes. */
function tellParts({ behind, redisBytes, accepted }: Samples, results: Results): void {
  const grown = (points: readonly Point[]): number => (points.at(-1)?.value ?? 0) - (points[0]?.value ?? 0);
  const left = behind.map(({ value }) => value);
  results.add('time', timeMs / 1_000, 's');
  results.add('restarts', restartsOf({ timeMs, restartMs, stages }).length, 'restarts');
  results.add('records to do, median', median(left), 'records');
  results.add('records to do, most', Math.max(...left), 'records');
  results.add('Redis at the end', (redisBytes.at(-1)?.value ?? 0) / 2 ** 20, 'MiB');
  results.add('Redis per accepted fact', grown(redisBytes) / grown(accepted), 'bytes');
}

/** Checks the load chapter by chapter, since all of it at once would not fit into memory. */
async function check(
  { infrastructure, report }: Pick<Workplace, 'infrastructure' | 'report'>,
  chapters: Chapters,
  load: Omit<Load, 'mark'>,
): Promise<{ readonly problems: readonly string[]; readonly counts: ReadonlyMap<string, number> }> {
  const problems: string[] = [];
  const counts = new Map<string, number>();
  for (const { mark, facts, ...range } of chapters.all()) {
    const snapshot = await takeSnapshot(infrastructure, mark, range);
    const checked = checkLoad(snapshot, { ...load, mark });
    problems.push(...checked.problems);
    if ((checked.counts.raw ?? 0) !== facts)
      problems.push(`${mark}: ${checked.counts.raw} of ${facts} facts are there`);
    for (const [name, value] of Object.entries(checked.counts)) counts.set(name, (counts.get(name) ?? 0) + value);
    report(`checked ${facts} facts of ${mark}: ${checked.problems.length} wrong`);
  }
  return { problems, counts };
}

async function soak({ infrastructure, signal, ending, report }: Workplace): Promise<boolean> {
  report(`SEED=${seed} TIME_MS=${timeMs} RATE=${rate} RESTART_MS=${restartMs} COPIES=${COPIES}`);
  const mark = `soak-${randomUUID().slice(0, 8)}`;
  // One binding that everything passes, and one that tells apart.
  const routes = threeRoutes(mark).slice(0, 2);
  await configureRoutes(settingsOf(infrastructure), mark, routes);
  const client = await connectOutside(infrastructure);
  ending.defer(() => client.close());
  const reader = createPlaceReader(infrastructure);
  ending.defer(() => reader.close());
  const fleet = createFleet({ settings: { ...settingsOf(infrastructure), ...secretKeys }, say: report });
  ending.defer(() => fleet.stop());
  const context: Context = { fleet, report, signal };
  const { lasting, turns } = await startCopies(context, client);

  const samples = createSampling({ redisUrl: infrastructure.redisUrl, client, reader, running: fleet.running });
  ending.defer(samples.close);
  const ends = () => client.ends(pipelineTopics);
  const chapters = createChapters({ mark, connectionId: mark, channels, seed, ends, factsEach: given.CHAPTER_FACTS });
  const stream = startStream({ client, topic: 'raw-provider-facts', perSecond: rate, take: chapters.take });
  ending.defer(() => stream.stop());
  const words = (): string => {
    const last = [samples.behind, samples.redisBytes].map((points) => points.at(-1)?.value ?? 0);
    return `${stream.published()} facts, ${last[0]} records to do, Redis ${Math.round((last[1] ?? 0) / 2 ** 20)} MiB`;
  };
  await Promise.race([
    Promise.all([restart(context, turns), watch(context, samples, words)]),
    stream.ended.then(() => Promise.reject(new Error('the stream ended'))),
  ]);
  await stream.stop();

  const calmAt = performance.now();
  const progress = await watchProgress(infrastructure);
  ending.defer(() => progress.close());
  await untilAtRest(client, progress, restMs);
  const settledMs = performance.now() - calmAt;
  report(`${stream.published()} facts published, settled after ${(settledMs / 1_000).toFixed(1)} s`);
  await samples.take(performance.now() - calmAt + timeMs);
  await fleet.stop();

  const results = createResults('soak-results.jsonl');
  const judged = {
    names: lasting.map(({ name }) => name),
    fromMs: warmUpMs,
    untilMs: timeMs,
    percent: given.GROWTH_PERCENT,
  };
  const wrong = [...judgeGrowth(samples.tracks, judged, results)];
  const { problems, counts } = await check({ infrastructure, report }, chapters, { routes, tells: tellsOfComment });
  wrong.push(...problems);
  for (const [reason, times] of fleet.ownEnds) wrong.push(`ended by itself, ${times} times: ${reason}`);
  wrong.push(...[...fleet.badStops, ...fleet.cutStops, ...fleet.lateStops].map((name) => `did not stop well: ${name}`));
  for (const [name, times] of samples.silent) report(`no answer of ${name}, ${times} times`);

  results.add('facts', stream.published(), 'facts');
  results.add('settled after', settledMs / 1_000, 's');
  tellParts(samples, results);
  for (const name of ['accepted', 'events', 'decisions', 'rows', 'repeats']) {
    results.add(`checked ${name}`, counts.get(name), name);
  }
  results.add('wrong', problems.length, 'differences', { atMost: 0 });
  process.stdout.write(`${results.table()}\n\n`);
  for (const each of wrong.slice(0, mostProblems)) report(`WRONG ${each.slice(0, 2_000)}`);
  return wrong.length === 0;
}

await runTool('soak', soak);

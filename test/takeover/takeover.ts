import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { median } from '../bench/measure.ts';
import { createResults } from '../bench/results.ts';
import { type Copy, createFleet } from '../chaos/fleet.ts';
import { connectOutside, pipelineStages } from '../e2e/kafka.ts';
import { createRandom, githubFacts } from '../e2e/load.ts';
import { createPlaceReader } from '../e2e/places.ts';
import { configureRoutes, secretKeys, threeRoutes } from '../e2e/routes.ts';
import { startStream } from '../e2e/stream.ts';
import { runTool, type Workplace } from '../harness/run-tool.ts';
import { settingsOf } from '../integration/signalbox.ts';
import { isShared, untilMoved } from './handover.ts';

const count = (otherwise: number) => z.coerce.number().int().min(1).default(otherwise);
const { SEED, RATE, COPIES, REPEATS, SESSION_MS } = z
  .object({
    SEED: z.coerce.number().int().min(0).max(4_294_967_295).optional(),
    RATE: count(150),
    COPIES: count(2).pipe(z.number().min(2)),
    REPEATS: count(5),
    SESSION_MS: count(10_000),
  })
  .parse(process.env);
const seed = SEED ?? randomInt(1_000_000);
const [partitions, channels, awayMs] = [12, 200, 2_000];
const [calmMs, limitMs, betweenLooksMs, calmLooks] = [120_000, 120_000, 250, 3];
const stages = pipelineStages.map(({ stage }) => stage);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

async function takeover({ infrastructure, signal: over, ending, report }: Workplace): Promise<boolean> {
  report(`SEED=${seed} RATE=${RATE} COPIES=${COPIES} REPEATS=${REPEATS} SESSION_MS=${SESSION_MS}`);
  const [mark, random] = [`takeover-${randomUUID().slice(0, 8)}`, createRandom(seed)];
  await configureRoutes(settingsOf(infrastructure), mark, threeRoutes(mark).slice(0, 1));
  // As soon as the broker is back there is work again: what is measured is the product, not who publishes.
  const client = await connectOutside(infrastructure, { initialRetryTime: 50, maxRetryTime: 200, retries: 2 });
  ending.defer(() => client.close());
  const reader = createPlaceReader(infrastructure);
  ending.defer(() => reader.close());
  const fleet = createFleet({
    settings: { ...settingsOf(infrastructure), ...secretKeys, KAFKA_SESSION_TIMEOUT_MS: String(SESSION_MS) },
    say: report,
  });
  ending.defer(() => fleet.stop());
  for (const stage of stages) for (let copy = 0; copy < COPIES; copy++) fleet.add([stage]);
  const facts = githubFacts({ mark, connectionId: mark, channels, seed, remembered: 1_000 });
  const stream = startStream({
    ...{ client, topic: 'raw-provider-facts', perSecond: RATE },
    take: (most) => Array.from({ length: most }, () => facts.next().value),
  });
  ending.defer(() => stream.stop());

  const isCalm = async (): Promise<boolean> => {
    for (const stage of stages) {
      if (!isShared(await client.owners(stage), { members: COPIES, partitions })) return false;
    }
    const behind = [...(await reader.look()).values()].reduce((sum, { applied, end }) => sum + end - applied - 1, 0);
    return behind < RATE;
  };
  /** Until all copies share the work and none is behind; then a while more, so that no beat is met always. */
  const untilCalm = async (): Promise<void> => {
    const limit = performance.now() + calmMs;
    for (let good = 0; good < calmLooks; ) {
      // A look that fails is one of a group or a broker that is not calm yet.
      good = (await isCalm().catch(() => false)) ? good + 1 : 0;
      if (performance.now() > limit) throw new Error(`not calm after ${calmMs} ms`);
      await delay(betweenLooksMs, undefined, { signal: over });
    }
    await delay(random(3_000), undefined, { signal: over });
  };

  /** From the signal to a copy until another one has handled records that came after its end, in all of its partitions. */
  const end = async (copy: Copy, signal: 'SIGKILL' | 'SIGTERM'): Promise<number> => {
    const [stage = ''] = copy.services;
    const names = (await client.owners(stage))?.get(copy.name)?.map((partition) => `${stage}/${partition}`) ?? [];
    if (names.length === 0) throw new Error(`${copy.name} has no partitions`);
    const at = performance.now();
    await fleet.end(copy, signal);
    const endedMs = performance.now() - at;
    await untilMoved(reader, { names, limitMs });
    const ms = performance.now() - at;
    report(
      `${signal} to ${copy.name}: ended after ${seconds(endedMs)}, ${names.length} partitions after ${seconds(ms)}`,
    );
    over.throwIfAborted();
    fleet.add(copy.services);
    return ms;
  };
  const copyOf = (repeat: number): Copy => {
    const stage = stages[repeat % stages.length] ?? '';
    const copies = fleet.running().filter(({ services }) => services.includes(stage));
    const copy = copies[random(copies.length)];
    if (copy === undefined) throw new Error(`no copy of ${stage} runs`);
    return copy;
  };
  const away = async (kafka: NonNullable<typeof infrastructure.parts.kafka>): Promise<number> => {
    await kafka.kill();
    await delay(awayMs);
    await kafka.restart();
    const at = performance.now();
    const names = stages.flatMap((stage) =>
      Array.from({ length: partitions }, (_, partition) => `${stage}/${partition}`),
    );
    await untilMoved(reader, { names, limitMs });
    const ms = performance.now() - at;
    report(`kill -9 of the broker: all partitions ${seconds(ms)} after it answered again`);
    return ms;
  };
  const repeated = async (what: (repeat: number) => Promise<number>): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      await untilCalm();
      times.push(await what(repeat));
    }
    return times;
  };

  const results = createResults('takeover-results.jsonl');
  const add = (what: string, times: readonly number[], atMost: number): void => {
    results.add(`${what}, median`, median(times) / 1_000, 's');
    results.add(`${what}, most`, Math.max(...times) / 1_000, 's', { atMost: atMost / 1_000 });
  };
  const work = async (): Promise<void> => {
    add('takeover after SIGTERM', await repeated((repeat) => end(copyOf(repeat), 'SIGTERM')), 2_000);
    add('takeover after kill -9', await repeated((repeat) => end(copyOf(repeat), 'SIGKILL')), SESSION_MS + 3_000);
    const { kafka } = infrastructure.parts;
    if (kafka === undefined) report('The broker is not ours to kill: its figure is left out.');
    else add('all partitions after the broker is back', await repeated(() => away(kafka)), 20_000);
  };
  await Promise.race([work(), stream.ended.then(() => Promise.reject(new Error('the stream ended')))]);
  for (const [reason, times] of fleet.ownEnds) report(`ended by itself, ${times} times: ${reason}`);
  const badStops = [...fleet.badStops, ...fleet.cutStops];
  for (const bad of badStops) report(`did not stop well: ${bad}`);
  process.stdout.write(`\n${results.table()}\n\n`);
  return results.missed() + badStops.length + fleet.ownEnds.size === 0;
}

await runTool('takeover', takeover);

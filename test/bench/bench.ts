import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startInfrastructure } from '../harness/infrastructure.ts';
import type { Addresses, Infrastructure, PartName } from '../harness/parts.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { filter } from './comments.ts';
import { connectLog, type OutsideLog } from './log.ts';
import { type Chain, catchUp, latencies, median, publishComments, quantile, untilHeld } from './measure.ts';
import { cpuSeconds, endAll, type Measured, startBareChain, startServices } from './processes.ts';
import { createResults } from './results.ts';
import { stateBytes } from './state-bytes.ts';

const quick = Boolean(process.env.QUICK);
const facts = Number(process.env.FACTS ?? (quick ? 30_000 : 100_000));
const rounds = quick ? 1 : 3;
const latencySeconds = quick ? 5 : 7;
const idlingSeconds = quick ? 4 : 10;
const [perSecond, warmUpSeconds, partitions] = [200, quick ? 1 : 3, 12];
const stages = ['normalizer', 'filter', 'mirror-projector'];
const bareTopics = ['bench-raw', 'bench-normalized', 'bench-accepted', 'bench-events'];

const report = (line: string): void => void process.stderr.write(`${line}\n`);

/** What one round of a chain gave. */
interface Round {
  readonly factsPerSecond: number;
  readonly latencies: readonly number[];
  /** CPU of each process for a fact, in microseconds, while the backlog was worked off. */
  readonly cpu: Readonly<Record<'chain' | 'kafka' | 'redis', number | undefined>>;
  /** Milliseconds of CPU per second while nothing happens. */
  readonly idle: number | undefined;
}

let taken = 0;
const numbers = (count: number): readonly number[] => Array.from({ length: count }, () => taken++);

const pidOf = (infrastructure: Infrastructure, part: PartName): number | undefined => {
  const running = infrastructure.parts[part];
  return running !== undefined && 'pid' in running && typeof running.pid === 'number' ? running.pid : undefined;
};

const since = (now: number | undefined, before: number | undefined): number | undefined =>
  now === undefined || before === undefined ? undefined : now - before;

/** Works off a backlog, then idles, then is asked for its latency; in a process that lives as long as the round. */
async function round(options: {
  readonly log: OutsideLog;
  readonly chain: Chain;
  readonly infrastructure: Infrastructure;
  /** How long it is watched while nothing happens. */
  readonly idleSeconds: number;
  readonly start: () => Promise<readonly Measured[]>;
}): Promise<Round> {
  const { log, chain, infrastructure, idleSeconds } = options;
  const before = { first: await log.held(chain.first), output: await log.held(chain.output) };
  await publishComments(log, chain, numbers(facts));
  const running = await options.start();
  const chainSeconds = (): number | undefined =>
    running
      .map(({ pid }) => cpuSeconds(pid))
      .reduce((sum, each) => (each === undefined ? sum : (sum ?? 0) + each), undefined);
  const cpuNow = () => ({
    chain: chainSeconds(),
    kafka: cpuSeconds(pidOf(infrastructure, 'kafka')),
    redis: cpuSeconds(pidOf(infrastructure, 'redis')),
  });
  let at = cpuNow();
  const { perSecond: factsPerSecond, counted } = await catchUp(log, chain, {
    ...{ facts, before, warmUpMs: warmUpSeconds * 1_000 },
    onBegun() {
      at = cpuNow();
    },
  });
  const now = cpuNow();
  const perFact = (used: number | undefined): number | undefined =>
    used === undefined ? undefined : (used * 1_000_000) / counted;
  const cpu = {
    chain: perFact(since(now.chain, at.chain)),
    kafka: perFact(since(now.kafka, at.kafka)),
    redis: perFact(since(now.redis, at.redis)),
  };
  // What was put off until there is time for it, as commits and timers of clients, does not belong to idling.
  await sleep(2_000);
  const busy = chainSeconds();
  await sleep(idleSeconds * 1_000);
  const idle = idleSeconds === 0 ? undefined : since(chainSeconds(), busy);
  const found = await latencies(log, chain, {
    perSecond,
    warmUp: numbers(perSecond * warmUpSeconds),
    numbers: numbers(perSecond * latencySeconds),
  });
  await Promise.all(running.map((each) => each.stop()));
  return {
    factsPerSecond,
    latencies: found,
    cpu,
    idle: idle === undefined ? undefined : (idle * 1_000) / idleSeconds,
  };
}

/** Facts per second of one stage in so many processes, from the first publication on. */
async function scaled(options: {
  readonly log: OutsideLog;
  readonly chain: Chain;
  readonly copies: number;
  readonly start: () => Promise<Measured>;
}): Promise<number> {
  const { log, chain, copies } = options;
  const running = await Promise.all(Array.from({ length: copies }, options.start));
  const before = await log.held(chain.first);
  // Seen to work, they have joined; the rest of the warm-up settles who has which partition.
  await publishComments(log, chain, numbers(partitions * 50));
  await untilHeld(log, chain.first, before + partitions * 50);
  await sleep(warmUpSeconds * 1_000);
  const began = performance.now();
  await publishComments(log, chain, numbers(facts));
  await untilHeld(log, chain.first, before + partitions * 50 + facts);
  const seconds = (performance.now() - began) / 1_000;
  await Promise.all(running.map((each) => each.stop()));
  return facts / seconds;
}

async function configure(settings: Readonly<Record<string, string>>): Promise<void> {
  await signalboxJson(settings, 'migrate');
  await signalboxJson(
    { ...settings, HOOK: 'bench' },
    ...['connections', 'put', 'bench', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'],
  );
  await signalboxJson(settings, 'bindings', 'put', 'iris', 'desk', '--connection', 'bench', '--filter', filter);
}

/** Prints JSON as the product's publishers do: in the Confluent wire format. */
async function framed({ schemaRegistryUrl }: Addresses, topic: string): Promise<(fact: unknown) => Buffer> {
  const answer = await fetch(`${schemaRegistryUrl}/subjects/${topic}-value/versions/latest`);
  // The registry's API says so.
  const { id } = (await answer.json()) as { id: number };
  const head = Buffer.alloc(5);
  head.writeInt32BE(id, 1);
  return (fact) => Buffer.concat([head, Buffer.from(JSON.stringify(fact))]);
}

async function bench(infrastructure: Infrastructure, dir: string): Promise<void> {
  const profile = process.env.PROFILE;
  const settings = {
    ...settingsOf(infrastructure),
    SIGNALBOX_SECRET_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}`,
    SIGNALBOX_PARTITIONS: String(partitions),
  };
  const profiled = profile && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(profile)}` };
  const results = createResults('bench-results.jsonl');
  await configure(settings);
  const log = await connectLog(infrastructure.kafkaBrokers);
  await log.createTopics(bareTopics, partitions);
  const [input = '', first = '', , output = ''] = bareTopics;
  const bare: Chain = { input, first, output, encode: (fact) => Buffer.from(JSON.stringify(fact)) };
  const product: Chain = {
    input: 'raw-provider-facts',
    first: 'normalized-facts',
    output: 'actor-events',
    encode: await framed(infrastructure, 'raw-provider-facts'),
  };
  const bytesBefore = await stateBytes(infrastructure.redisUrl);

  const startStages = (services: readonly string[]) =>
    startServices(services, { settings: { ...settings, ...profiled }, folder: dir });
  const forms = [
    // As it is deployed: every stage is a process.
    { name: 'product', chain: product, start: () => Promise.all(stages.map((stage) => startStages([stage]))) },
    { name: 'product in one process', chain: product, start: async () => [await startStages(stages)] },
    { name: 'bare chain', chain: bare, start: async () => [await startBareChain(infrastructure, bareTopics, dir)] },
  ] as const;
  report('Warming up the broker');
  const warming = await startBareChain(infrastructure, bareTopics, dir);
  await publishComments(log, bare, numbers(facts));
  await untilHeld(log, bare.output, facts);
  await warming.stop();

  const rounded = new Map<string, Round[]>(forms.map(({ name }) => [name, []]));
  for (let number = 1; number <= rounds; number++) {
    for (const { name, chain, start } of forms) {
      report(`Round ${number} of ${rounds}: the ${name}, ${facts} facts, then ${perSecond} a second`);
      const idleSeconds = number === 1 ? idlingSeconds : 0;
      rounded.get(name)?.push(await round({ log, infrastructure, idleSeconds, chain, start }));
    }
  }
  const roundsOf = (name: string): readonly Round[] => rounded.get(name) ?? [];
  const perSecondOf = (name: string): number => median(roundsOf(name).map(({ factsPerSecond }) => factsPerSecond));
  const latencyOf = (name: string, share: number): number =>
    quantile(
      roundsOf(name).flatMap((each) => each.latencies),
      share,
    );
  const bareName = 'bare chain';
  for (const { name } of forms) {
    if (name !== bareName) {
      results.add(`throughput ratio, ${name}`, perSecondOf(name) / perSecondOf(bareName), '/ bare', { atLeast: 0.5 });
    }
    results.add(`throughput, ${name}`, perSecondOf(name), 'facts/s');
  }
  for (const [quantileName, share] of [
    ['median', 0.5],
    ['p99', 0.99],
  ] as const) {
    for (const { name } of forms) {
      const [ours, theirs] = [latencyOf(name, share), latencyOf(bareName, share)];
      if (name !== bareName)
        results.add(`latency ${quantileName} ratio, ${name}`, ours / theirs, '/ bare', { atMost: 2 });
      results.add(`latency ${quantileName}, ${name}`, ours, 'ms');
    }
  }
  for (const { name } of forms) {
    for (const process of ['chain', 'kafka', 'redis'] as const) {
      const used = roundsOf(name).flatMap(({ cpu }) => cpu[process] ?? []);
      results.add(process === 'chain' ? `CPU, ${name}` : `CPU of ${process}, ${name}`, median(used), 'µs / fact');
    }
    results.add(`idle CPU, ${name}`, median(roundsOf(name).flatMap(({ idle }) => idle ?? [])), 'ms/s');
  }

  const bytes = await stateBytes(infrastructure.redisUrl);
  const accepted = await log.held('accepted-facts');
  results.add('Redis per channel', bytes.channel, 'bytes');
  results.add('Redis per entry', bytes.entry, 'bytes');
  results.add('Redis in all per entry', (bytes.used - bytesBefore.used) / accepted, 'bytes');

  report(`Rebuilding the mirror from ${accepted} records`);
  const rebuilt = await signalboxJson({ ...settings, ...profiled }, 'rebuild', 'mirror-projector', '--grace', '0s');
  // What the command answers.
  const { records, foldMs } = rebuilt as { records: number; foldMs: number };
  results.add('rebuild', (records * 1_000) / foldMs, 'records/s', { atLeast: 50_000 });
  results.add('rebuild size', records, 'records');

  const copiesOf = (copies: number): Promise<number> => {
    report(`One stage in ${copies === 1 ? 'one process' : `${copies} processes`}`);
    const start = () => startServices(['normalizer'], { settings, folder: dir });
    return scaled({ log, chain: product, copies, start });
  };
  const one = await copiesOf(1);
  const three = await copiesOf(3);
  results.add('normalizer in one process', one, 'facts/s');
  results.add('normalizer in three processes', three, 'facts/s');
  results.add('three processes against one', three / one, 'ratio');
  await log.close();
  process.stdout.write(`\n${results.table()}\n`);
}

const dir = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  }
});
const started: Infrastructure[] = [];
const began = performance.now();
let status = 0;
const whole = async (): Promise<void> => {
  const infrastructure = await startInfrastructure({ dir: join(dir, 'infrastructure'), keepData: false, report });
  started.push(infrastructure);
  await bench(infrastructure, dir);
};
try {
  await Promise.race([whole(), interrupted]);
  report(`Took ${Math.round((performance.now() - began) / 1_000)} s; the figures are in bench-results.jsonl.`);
} catch (error) {
  report(error instanceof Error ? error.message : String(error));
  status = 1;
} finally {
  endAll();
  await Promise.all(started.map((each) => each.stop()));
  rmSync(dir, { recursive: true, force: true });
}
process.exit(status);

import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { median, quantile } from '../bench/measure.ts';
import { createResults, type Results } from '../bench/results.ts';
import { type Copy, createFleet, type Fleet } from '../chaos/fleet.ts';
import { type Progress, watchProgress } from '../chaos/progress.ts';
import { untilAtRest } from '../chaos/rest.ts';
import { connectOutside, type OutsideClient, pipelineStages } from '../e2e/kafka.ts';
import { createPlaceReader } from '../e2e/places.ts';
import { secretKeys } from '../e2e/routes.ts';
import { type Stream, startStream } from '../e2e/stream.ts';
import { runTool, type Workplace } from '../harness/run-tool.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { judgeGrowth } from '../soak/growth.ts';
import { createSampling, type Samples } from '../soak/sampling.ts';
import type { Point } from '../soak/slope.ts';
import { isShared } from '../takeover/handover.ts';
import { type ChatRecord, chatFacts } from './chat.ts';
import { type Check, createCheck, type Route } from './check.ts';
import { readPartition } from './reading.ts';
import { createTimerReader, type TimerReader } from './timers.ts';

const count = (otherwise: number) => z.coerce.number().int().min(1).default(otherwise);
const given = z
  .object({
    SEED: z.coerce.number().int().min(0).max(4_294_967_295).optional(),
    FACTS: count(100_000),
    CHANNELS: count(2_000),
    RATE: z.coerce.number().int().min(0).default(150),
    HISTORY: z.coerce.number().int().min(0).default(60),
    WARM_UP_MS: count(60_000),
    SAMPLE_MS: count(2_000),
    GROWTH_PERCENT: count(10),
    LATE_MS: count(1_000),
  })
  .parse(process.env);
const { FACTS, CHANNELS, RATE, HISTORY, SAMPLE_MS: sampleMs } = given;
// What is kept of a conversation grows until it is full: with so much behind them, all are.
const historyFacts = HISTORY * CHANNELS;
const seed = given.SEED ?? randomInt(1_000_000);
const isPaced = RATE > 0;
// Whoever says several things says the next one after a quarter of a second, some sooner and some later.
const abreast = isPaced ? Math.max(20, Math.round(RATE / 4)) : 500;
const asFastAsItCan = 1_000_000;
const [partitions, topic] = [12, 'normalized-facts'];
// Its input is what the normalizer makes: what is looked at comes after it.
const stages = pipelineStages.map(({ stage }) => stage).filter((stage) => stage !== 'normalizer');
const [joinMs, betweenLooksMs, settleMs, restMs, wordMs] = [120_000, 100, 600_000, 60_000, 10_000];
// Of a process that is not behind, some records are always on their way.
const [onTheirWay, lagGoneMs, overdueMs, mostProblems] = [200, 5_000, 1_000, 20];

const routesOf = (mark: string): readonly Route[] => [
  { agentUid: `${mark}-a`, bindingName: 'records', policy: 'record_only', passes: () => true },
  { agentUid: `${mark}-b`, bindingName: 'intervenes', policy: 'may_intervene', passes: () => true },
  {
    ...{ agentUid: `${mark}-c`, bindingName: 'groups', policy: 'ignore' },
    passes: ({ channel }) => channel.kind === 'im_group',
  },
];

/** Makes a connection, and a binding for each of the routes. */
async function configure(settings: Readonly<Record<string, string>>, mark: string, routes: readonly Route[]) {
  const configured = { ...settings, ...secretKeys, HOOK: 'secret' };
  await signalboxJson(configured, 'migrate');
  const secret = ['--provider', 'github', '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(configured, 'connections', 'put', mark, ...secret);
  for (const { agentUid, bindingName, policy } of routes) {
    const filter = bindingName === 'groups' ? ['--filter', "signal.channel.kind == 'im_group'"] : [];
    const rule = ['--connection', mark, '--policy', policy, ...filter];
    await signalboxJson(configured, 'bindings', 'put', agentUid, bindingName, ...rule);
  }
}

async function startCopies(fleet: Fleet, client: OutsideClient, signal: AbortSignal): Promise<readonly Copy[]> {
  const copies = stages.map((stage) => fleet.add([stage]));
  const areJoined = async (): Promise<boolean> => {
    const owners = await Promise.all(stages.map((stage) => client.owners(stage)));
    return owners.every((each) => isShared(each, { members: 1, partitions }));
  };
  for (const limit = performance.now() + joinMs; !(await areJoined()); ) {
    if (performance.now() > limit) throw new Error(`not all stages have joined after ${joinMs} ms`);
    await delay(betweenLooksMs, undefined, { signal });
  }
  return copies;
}

/** What a process warned of in its log, and how often. */
async function warningsOf({ name, ended }: Copy): Promise<readonly string[]> {
  const lines = (await ended).err.split('\n').filter((line) => /"level":[45]0/.test(line));
  const phrases = Map.groupBy(lines, (line) => /"msg":"([^"]*)"/.exec(line)?.[1] ?? line.slice(0, 200));
  return [...phrases].map(([phrase, all]) => `${name} warned: ${phrase}, ${all.length} times`);
}

type Chat = ReturnType<typeof chatFacts>;

/** What was seen of batches that wait. */
interface Waits {
  readonly open: Point[];
  readonly overdue: Point[];
}

interface Watch {
  readonly samples: Samples;
  readonly timers: TimerReader;
  readonly progress: Progress;
  readonly waits: Waits;
}

const last = (points: readonly Point[]): number => points.at(-1)?.value ?? 0;
const most = (points: readonly Point[]): number => Math.max(0, ...points.map(({ value }) => value));
const left = ({ progress }: Watch): number => Object.values(progress.behind()).reduce((sum, each) => sum + each, 0);

/** Takes samples, with a word now and then, for as long as `isOver` says no. */
async function watchUntil(
  isOver: () => boolean,
  watch: Watch,
  around: Pick<Workplace, 'report' | 'signal'> & { readonly beganAt: number; readonly published: () => number },
): Promise<void> {
  const { samples, timers, waits } = watch;
  for (let wordAt = 0; !isOver(); ) {
    const atMs = performance.now() - around.beganAt;
    await samples.take(atMs);
    const { all, overdue } = await timers.look();
    waits.open.push({ atMs, value: all });
    waits.overdue.push({ atMs, value: overdue });
    if (performance.now() >= wordAt) {
      wordAt = performance.now() + wordMs;
      const redis = Math.round(last(samples.redisBytes) / 2 ** 20);
      const toDo = stages.map((stage) => `${stage} ${watch.progress.behind()[stage]}`).join(', ');
      around.report(
        `${around.published()} facts; to do: ${toDo}; ${all} batches open, ${overdue} overdue; Redis ${redis} MiB`,
      );
    }
    const spentMs = performance.now() - around.beganAt - atMs;
    await delay(Math.max(0, sampleMs - spentMs), undefined, { signal: around.signal });
  }
}

/** Reads the log partition by partition and compares. */
async function checkLog(brokers: string, client: OutsideClient, check: Check, report: Workplace['report']) {
  const topics = [topic, 'accepted-facts', 'actor-events', 'decisions', 'dead-letters'];
  const ends = await client.ends(topics);
  const inTurn = async (
    wanted: readonly string[],
    take: (of: (topic: string) => Parameters<Check['events']>[0]) => void,
  ) => {
    for (let partition = 0; partition < partitions; partition++) {
      take(await readPartition(brokers, wanted, { partition, ends }));
    }
    report(`checked ${wanted.join(' and ')}`);
  };
  await inTurn([topic, 'accepted-facts'], (of) => check.facts(of(topic), of('accepted-facts')));
  await inTurn(['actor-events'], (of) => check.events(of('actor-events')));
  await inTurn(['decisions'], (of) => check.decisions(of('decisions')));
  const letters = await client.held('dead-letters');
  const { facts } = check.counts;
  return [
    ...check.problems(),
    ...(letters > 0 ? [`${letters} dead letters`] : []),
    ...(facts === FACTS + historyFacts ? [] : [`${facts} of ${FACTS + historyFacts} facts are there`]),
  ];
}

/** Tells what was seen of the time between, and counted at the end. */
function tell(results: Results, { samples, waits }: Watch, { counts, repeats, firedLateMs, toldLateMs }: Check): void {
  const redis = samples.redisBytes;
  results.add('records to do, median', median(samples.behind.map(({ value }) => value)), 'records');
  results.add('records to do, most', most(samples.behind), 'records');
  results.add('batches open, most', most(waits.open), 'batches');
  results.add(`batches overdue by ${overdueMs / 1_000} s, most`, most(waits.overdue), 'batches');
  results.add('accepted facts', counts.accepted, 'facts');
  results.add('timers fired', counts.timers, 'timers');
  results.add('batches closed', counts.closed, 'batches');
  results.add('… by a timer', counts.closedByTimer, 'batches');
  results.add('actor events', counts.events, 'events');
  results.add('messages handed over', counts.messages, 'messages');
  results.add('decisions', counts.decisions, 'decisions');
  for (const [name, records] of repeats) results.add(`repeats in ${name}`, records, 'records');
  const bound = isPaced ? { atMost: given.LATE_MS } : undefined;
  for (const [name, late, target] of [
    ['timer after due', firedLateMs, undefined],
    ['event after due', toldLateMs, bound],
  ] as const) {
    results.add(`${name}, p50`, quantile(late, 0.5), 'ms');
    results.add(`${name}, p99`, quantile(late, 0.99), 'ms', target);
    const latest = late.reduce((one, other) => Math.max(one, other), 0);
    results.add(`${name}, most`, latest, 'ms');
  }
  results.add('Redis at the end', last(redis) / 2 ** 20, 'MiB');
  results.add('Redis per fact', (last(redis) - (redis[0]?.value ?? 0)) / FACTS, 'bytes');
}

/** Publishes so many facts of a chat; `all` resolves when the log has them. */
function flow(
  { client, chat, signal }: { readonly client: OutsideClient; readonly chat: Chat; readonly signal: AbortSignal },
  { facts, perSecond }: { readonly facts: number; readonly perSecond: number },
): { readonly stream: Stream; readonly all: Promise<void> } {
  let taken = 0;
  const take = async (asked: number): Promise<readonly ChatRecord[]> => {
    const next = Array.from({ length: Math.min(asked, facts - taken) }, () => chat.next().value);
    taken += next.length;
    if (next.length === 0) await delay(betweenLooksMs);
    return next;
  };
  const stream = startStream({ client, topic, perSecond, take });
  const untilPublished = async (): Promise<void> => {
    while (stream.published() < facts) await delay(betweenLooksMs, undefined, { signal });
  };
  const broken = stream.ended.then(() => Promise.reject(new Error('the stream ended')));
  return { stream, all: Promise.race([untilPublished(), broken]) };
}

/** Waits until no stage is behind. */
async function untilCaughtUp(watch: Watch, signal: AbortSignal): Promise<void> {
  for (const limit = performance.now() + settleMs; left(watch) > onTheirWay; ) {
    if (performance.now() > limit) throw new Error(`${left(watch)} records are left after ${settleMs} ms`);
    await delay(betweenLooksMs, undefined, { signal });
  }
}

/** Plays what lies behind the channels, and then the chats, until nothing is left and no batch is open. */
async function play(watch: Watch, client: OutsideClient, chat: Chat, { report, signal, ending }: Workplace) {
  const begin = (facts: number, perSecond: number) => {
    const begun = flow({ client, chat, signal }, { facts, perSecond });
    ending.defer(() => begun.stream.stop());
    return begun;
  };
  await begin(historyFacts, asFastAsItCan).all;
  await untilCaughtUp(watch, signal);
  report(`${historyFacts} messages lie behind the channels`);

  const beganAt = performance.now();
  const sinceBegin = (): number => performance.now() - beganAt;
  const { stream, all } = begin(FACTS, isPaced ? RATE : asFastAsItCan);
  let [publishedMs, caughtUpMs] = [0, 0];
  const handled = (async () => {
    await all;
    publishedMs = sinceBegin();
    report(`all ${FACTS} facts are published`);
    await untilCaughtUp(watch, signal);
    caughtUpMs = sinceBegin();
  })();
  const isQuiet = (): boolean => {
    const open = last(watch.waits.open);
    const isLate = caughtUpMs > 0 && sinceBegin() > caughtUpMs + settleMs;
    if (isLate) throw new Error(`${open} batches are open ${settleMs} ms after the last fact`);
    return caughtUpMs > 0 && open === 0 && left(watch) === 0;
  };
  await Promise.all([handled, watchUntil(isQuiet, watch, { report, signal, beganAt, published: stream.published })]);
  await untilAtRest(client, watch.progress, restMs);
  report('nothing is left, and no batch is open');
  await watch.samples.take(sinceBegin());
  return { publishedMs, caughtUpMs };
}

/** Begins to watch processes, the parts around them, and what waits. */
async function openWatch(
  { infrastructure, ending }: Workplace,
  client: OutsideClient,
  running: Fleet['running'],
): Promise<Watch> {
  const { redisUrl } = infrastructure;
  const reader = createPlaceReader(infrastructure);
  ending.defer(() => reader.close());
  const samples = createSampling({ redisUrl, client, reader, running });
  ending.defer(samples.close);
  const timers = createTimerReader(redisUrl, overdueMs);
  ending.defer(timers.close);
  const progress = await watchProgress(infrastructure);
  ending.defer(() => progress.close());
  return { samples, timers, progress, waits: { open: [], overdue: [] } };
}

async function converse(workplace: Workplace): Promise<boolean> {
  const { infrastructure, signal, ending, report } = workplace;
  report(`SEED=${seed} FACTS=${FACTS} CHANNELS=${CHANNELS} RATE=${RATE} HISTORY=${HISTORY}`);
  const mark = `talk-${randomUUID().slice(0, 8)}`;
  const routes = routesOf(mark);
  const settings = { ...settingsOf(infrastructure), ...secretKeys };
  await configure(settings, mark, routes);
  const client = await connectOutside(infrastructure);
  ending.defer(() => client.close());
  const fleet = createFleet({ settings, say: report });
  ending.defer(() => fleet.stop());
  const copies = await startCopies(fleet, client, signal);
  const names = copies.map(({ name }) => name);
  report(`${names.join(', ')} run`);
  const watch = await openWatch(workplace, client, fleet.running);

  const agents = routes.map(({ agentUid }) => agentUid);
  const chat = chatFacts({ mark, connectionId: mark, agents, channels: CHANNELS, abreast, history: HISTORY, seed });
  const { publishedMs, caughtUpMs } = await play(watch, client, chat, workplace);
  await fleet.stop();
  for (const copy of copies) for (const warning of await warningsOf(copy)) report(warning);

  const results = createResults('conversations-results.jsonl');
  // Of a short run, a quarter has to do.
  const fromMs = Math.min(given.WARM_UP_MS, publishedMs / 4);
  const judged = { names, fromMs, untilMs: publishedMs, percent: given.GROWTH_PERCENT };
  const wrong = [...judgeGrowth(watch.samples.tracks, judged, results)];
  const check = createCheck({ mark, routes });
  const problems = await checkLog(infrastructure.kafkaBrokers, client, check, report);
  results.add('facts', FACTS, 'facts');
  results.add('published at', (FACTS * 1_000) / publishedMs, 'facts/s');
  results.add('handled at', (FACTS * 1_000) / caughtUpMs, 'facts/s');
  const gone = isPaced ? { atMost: lagGoneMs / 1_000 } : undefined;
  results.add('lag gone after the last fact', (caughtUpMs - publishedMs) / 1_000, 's', gone);
  tell(results, watch, check);
  results.add('wrong', problems.length, 'differences', { atMost: 0 });
  wrong.push(...problems, ...(results.missed() > 0 ? [`${results.missed()} figures are not what they should be`] : []));
  for (const [reason, times] of fleet.ownEnds) wrong.push(`ended by itself, ${times} times: ${reason}`);
  wrong.push(...[...fleet.badStops, ...fleet.cutStops, ...fleet.lateStops].map((name) => `did not stop well: ${name}`));
  for (const [name, times] of watch.samples.silent) report(`no answer of ${name}, ${times} times`);
  process.stdout.write(`${results.table()}\n\n`);
  for (const each of wrong.slice(0, mostProblems)) report(`WRONG ${each.slice(0, 2_000)}`);
  return wrong.length === 0;
}

await runTool('conversations', converse);

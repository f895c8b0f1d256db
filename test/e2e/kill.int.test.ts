import { createHmac, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { settingsOf } from '../integration/signalbox.ts';
import { type Checked, checkLoad, type Load, type Snapshot, takeSnapshot } from './checker/check.ts';
import type { RawFact } from './checker/contract.ts';
import type { LogRecord } from './checker/log.ts';
import { rootOf } from './checker/normalizer.ts';
import { redisKey } from './checker/rows.ts';
import { connectOutside, isSettled, type OutsideClient, pipelineStages } from './kafka.ts';
import { githubLoad, tellsOfComment } from './load.ts';
import { isReady, runServices, type ServiceProcess, stop } from './product.ts';
import { configureRoutes, secretKeys, threeRoutes } from './routes.ts';

const [facts, channels, rounds, chunk, mostBehind, leastLeft, mostLooks] = [5_000, 50, 2, 100, 500, 50, 40];
const infrastructure = inject('infrastructure');
const settings = { ...settingsOf(infrastructure), ...secretKeys, HOOK: 'secret' };
const run = `kill-${randomUUID().slice(0, 8)}`;
const connectionId = run;
const routes = threeRoutes(run);
const loadOf = (mark: string): Load => ({ mark, routes, tells: tellsOfComment });
const disturbed = loadOf(`${run}-disturbed`);
const steady = loadOf(`${run}-steady`);
const edged = loadOf(`${run}-edge`);

const running = new Map<string, ServiceProcess>();
const redis = new Redis(infrastructure.redisUrl);
let client: OutsideClient;
let snapshot: Snapshot;
let startedAt = 0;

const say = (text: string): void => {
  process.stderr.write(`  kill: ${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${text}\n`);
};
const patience = { timeout: 60_000, interval: 20 };

beforeAll(async () => {
  startedAt = performance.now();
  await configureRoutes(settings, connectionId, routes);
  client = await connectOutside(infrastructure);
  say('connection and bindings are stored');
});
afterAll(async () => {
  await Promise.all([...running.values()].map(stop));
  await client.close();
  redis.disconnect();
});

/** The records that a stage has applied: for each partition Redis keeps the offset of the last one. */
async function applied(stage: string): Promise<number> {
  const keys = Array.from({ length: 12 }, (_, partition) => `sb:1:{${stage}:${partition}}:position`);
  const fences = await Promise.all(keys.map((key) => redis.hget(key, 'fence')));
  return fences.reduce((sum, fence) => sum + Number(fence ?? -1) + 1, 0);
}

/** Publishes until it is told that there were enough, never far ahead of the first stage. Answers how many. */
async function publishWhile(
  records: ReturnType<typeof githubLoad>,
  next: (published: number) => 'publish' | 'wait' | 'end',
): Promise<number> {
  const before = await applied('normalizer');
  for (let published = 0; published < records.length; published += chunk) {
    await vi.waitUntil(
      async () =>
        next(published) === 'end' ||
        (next(published) === 'publish' && published - ((await applied('normalizer')) - before) < mostBehind),
      patience,
    );
    if (next(published) === 'end') return published;
    await client.publish('raw-provider-facts', records.slice(published, published + chunk));
  }
  return records.length;
}

interface Look {
  readonly applied: number;
  readonly held: number;
  readonly sent: number;
}

const lookAt = async ({ stage, input, output }: (typeof pipelineStages)[number]): Promise<Look> => ({
  sent: output === undefined ? 0 : await client.held(output),
  applied: await applied(stage),
  held: await client.held(input),
});

/** Whether a stage has just sent what it has not yet saved, or at least has just saved, and has more to do. */
const isInTheMiddle = (before: Look, now: Look, looks: number): boolean => {
  if (now.held - now.applied < leastLeft) return false;
  if (now.sent > before.sent && now.applied === before.applied) return true;
  return looks > (now.sent === 0 ? 0 : mostLooks) && now.applied > before.applied;
};

/** Kills a stage in the middle of its work, and starts it again. Answers once it is dead; `again`, once it moved on. */
async function kill(which: (typeof pipelineStages)[number]) {
  const { stage, input } = which;
  const victim = running.get(stage);
  if (victim === undefined) throw new Error(`${stage} does not run`);
  let [before, looks] = [await lookAt(which), 0];
  await vi.waitUntil(
    async () => {
      const now = await lookAt(which);
      const isRightMoment = isInTheMiddle(before, now, looks++);
      before = now;
      if (!isRightMoment) return false;
      // Held still, so that the second look is as true as the kill: meanwhile it could have finished.
      victim.child.kill('SIGSTOP');
      const still = await lookAt(which);
      if (still.held > still.applied) return true;
      victim.child.kill('SIGCONT');
      return false;
    },
    { ...patience, interval: 2 },
  );
  victim.child.kill('SIGKILL');
  const killedAt = performance.now();
  expect(await victim.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  const [done, held] = [await applied(stage), await client.held(input)];
  expect(held).toBeGreaterThan(done);
  say(`${stage} killed after ${done} records, ${held - done} before it, at look ${looks}`);

  const restart = async (): Promise<void> => {
    const next = await runServices([stage], settings);
    running.set(stage, next);
    await vi.waitUntil(() => isReady(next), patience);
    const joinedMs = performance.now() - killedAt;
    await vi.waitUntil(async () => (await applied(stage)) > done, patience);
    const movedMs = performance.now() - killedAt;
    say(`${stage} taken over: joined after ${seconds(joinedMs)}, moving after ${seconds(movedMs)}`);
  };
  return { again: restart() };
}

/** Whether every stage has applied all that lies before it, asked upstream first. */
async function isApplied(): Promise<boolean> {
  for (const { stage, input } of pipelineStages) {
    const held = await client.held(input);
    if ((await applied(stage)) < held) return false;
  }
  return true;
}

const perSecond = (count: number, since: number): string =>
  `${Math.round(count / ((performance.now() - since) / 1_000))} facts/s`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

test('every stage is killed in the middle of its work, twice, and nothing is lost, doubled or out of order', async () => {
  const stages = pipelineStages.map(({ stage }) => stage);
  await Promise.all(stages.map(async (stage) => running.set(stage, await runServices([stage], settings))));
  await Promise.all([...running.values()].map((each) => vi.waitUntil(() => isReady(each), patience)));
  say(`${stages.length} stages run, each in a process of its own`);

  let [killed, over] = [0, 0];
  // More than it takes: while a stage waits to be killed in the middle of its work, work keeps coming.
  const records = githubLoad({ mark: disturbed.mark, connectionId, facts: 4 * facts, channels, seed: 7 });
  const startedAt = performance.now();
  const publishing = publishWhile(records, (published) => {
    if (killed === over && killed < rounds) return 'publish';
    if (over === rounds && published >= facts) return 'end';
    // Every stage of this round is dead: the rest of its share, and the next one when all have been taken over.
    return published < killed * (facts / rounds) || over === rounds ? 'publish' : 'wait';
  });
  for (let round = 0; round < rounds; round++) {
    const restarts: Promise<void>[] = [];
    // The last stage first: those before it still give it work.
    for (const each of pipelineStages.toReversed()) restarts.push((await kill(each)).again);
    killed = round + 1;
    await Promise.all(restarts);
    over = round + 1;
  }
  const published = await publishing;
  say(`${published} facts published`);
  await vi.waitUntil(() => isSettled(client), patience);
  say(`settled: ${perSecond(published, startedAt)}, dead times included`);

  snapshot = await takeSnapshot(infrastructure, disturbed.mark);
  say('log and rows are read');
  const { problems, counts } = checkLoad(snapshot, disturbed);
  say(`checked: ${listed(counts)}`);
  expect(problems).toEqual([]);
  expect(counts.raw).toBe(published);
  expect(published).toBeGreaterThanOrEqual(facts);
}, 180_000);

const listed = (counts: Checked['counts']): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

test('the same stages take a load that nothing disturbs', async () => {
  const records = githubLoad({ mark: steady.mark, connectionId, facts: 2_000, channels, seed: 8 });
  const startedAt = performance.now();
  await client.publish('raw-provider-facts', records);
  await vi.waitUntil(() => isApplied(), { ...patience, interval: 5 });
  say(
    `${records.length} facts handled in ${seconds(performance.now() - startedAt)}, ${perSecond(records.length, startedAt)}`,
  );
  await vi.waitUntil(() => isSettled(client), patience);
  snapshot = await takeSnapshot(infrastructure, steady.mark);
  const { problems, counts } = checkLoad(snapshot, steady);
  say(`checked: ${listed(counts)}`);
  expect(problems).toEqual([]);
  expect(counts).toMatchObject({ raw: records.length, repeats: 0 });
});

test('what the edge acknowledged is in the log, though it is killed while webhooks come', async () => {
  const records = githubLoad({ mark: edged.mark, connectionId, facts: 600, channels, seed: 9 });
  const acknowledged: string[] = [];

  /** Sends webhooks, some at once, as GitHub does; answers those that were not acknowledged. */
  async function sendAll({ ingressUrl }: ServiceProcess, waiting: (typeof records)[number][]) {
    const left: typeof waiting = [];
    const sendNext = async (): Promise<void> => {
      for (let record = waiting.shift(); record !== undefined; record = waiting.shift()) {
        const id = await sendWebhook(`${ingressUrl}/webhooks/v1/github/${connectionId}/events`, record.fact);
        if (id === undefined) left.push(record);
        else acknowledged.push(id);
      }
    };
    await Promise.all(Array.from({ length: 8 }, sendNext));
    return left;
  }

  const first = await runServices(['ingress'], settings);
  running.set('ingress', first);
  const sending = sendAll(first, [...records]);
  await vi.waitUntil(() => acknowledged.length >= 200, { ...patience, interval: 1 });
  first.child.kill('SIGKILL');
  const left = await sending;
  expect(left.length).toBeGreaterThan(0);
  say(`the edge was killed after ${acknowledged.length} webhooks, ${left.length} were not acknowledged`);
  const second = await runServices(['ingress'], settings);
  running.set('ingress', second);
  expect(await sendAll(second, left)).toEqual([]);

  await vi.waitUntil(() => isSettled(client), patience);
  const all = await takeSnapshot(infrastructure, edged.mark);
  const { problems, counts } = checkLoad(all, edged);
  say(`checked: ${listed(counts)}`);
  expect(problems).toEqual([]);
  const published = new Set(all.log.get('raw-provider-facts')?.flatMap((raw) => (raw.value ? [rootOf(raw)] : [])));
  expect(acknowledged).toHaveLength(records.length);
  expect(acknowledged.filter((id) => !published.has(id))).toEqual([]);
});

/** Sends one webhook; answers the id of its raw fact, undefined when nobody acknowledged it. */
async function sendWebhook(url: string, { event = '', eventId = '', body }: RawFact): Promise<string | undefined> {
  const signature = createHmac('sha256', settings.HOOK).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': eventId,
    'x-hub-signature-256': `sha256=${signature}`,
  };
  try {
    const response = await fetch(url, { method: 'POST', headers, body });
    // The edge's own contract.
    const { id } = (await response.json()) as { readonly id?: string };
    return response.status === 200 ? id : undefined;
  } catch (error) {
    // The connection was cut or refused: that is what a kill looks like from outside.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

test('the check reports a row that somebody changed', async () => {
  const name = [...snapshot.rows.keys()].find((row) => row.includes(`/entries:github:e2e/${steady.mark}#`)) ?? '';
  const key = redisKey(1, name);
  const text = (await redis.get(key)) ?? '';
  await redis.set(key, text.replace('"firstSeenAt":', '"firstSeenAt":1'));
  const { rows } = await takeSnapshot(infrastructure, steady.mark);
  await redis.set(key, text);
  expect(checkLoad({ ...snapshot, rows }, steady).problems).toEqual([expect.stringContaining(`row ${name}`)]);
});

/** The snapshot with the records of one topic changed. */
const withTopic = (topic: string, change: (records: readonly LogRecord[]) => readonly LogRecord[]): Snapshot => ({
  ...snapshot,
  log: new Map([...snapshot.log, [topic, change(snapshot.log.get(topic) ?? [])]]),
});
const isSteady = ({ key }: LogRecord): boolean => key.includes(steady.mark);

/** The records with one of ours replaced. */
function replaced(
  records: readonly LogRecord[],
  by: (record: LogRecord) => readonly LogRecord[],
): readonly LogRecord[] {
  const index = records.findIndex(isSteady);
  return records.flatMap((record, at) => (at === index ? by(record) : [record]));
}

test.each<[string, (records: readonly LogRecord[]) => readonly LogRecord[]]>([
  ['is missing', (records) => replaced(records, () => [])],
  [
    'is there twice with another origin',
    (records) => replaced(records, (record) => [record, { ...record, from: `${record.from}-again` }]),
  ],
  [
    'is repeated with another content',
    (records) => replaced(records, (record) => [record, { ...record, value: { changed: true } }]),
  ],
  [
    'comes before the one it follows',
    (records) => {
      const first = records.find(isSteady);
      const next = records.find((record) => record !== first && record.key === first?.key);
      return records.map((record) => (record === first ? next : record === next ? first : record) ?? record);
    },
  ],
])('the check reports an actor event that %s', (_, change) => {
  expect(checkLoad(withTopic('actor-events', change), steady).problems).toHaveLength(1);
});

test('the check reports a decision that is missing, and the journal that still has it', () => {
  const { problems } = checkLoad(
    withTopic('decisions', (records) => replaced(records, () => [])),
    steady,
  );
  expect(problems).toContainEqual(expect.stringContaining(' to decisions '));
  expect(problems).toContainEqual(expect.stringContaining('decision-journal/'));
});

test('the check reports a dead letter', () => {
  const raw = snapshot.log.get('raw-provider-facts')?.find(({ key }) => key.includes(steady.mark));
  const rootId = raw === undefined ? '' : rootOf(raw);
  const letter: LogRecord = {
    ...{ topic: 'dead-letters', partition: 0, offset: 0n, at: 0, key: '' },
    value: { rootId, code: 'stage-fault' },
  };
  expect(
    checkLoad(
      withTopic('dead-letters', () => [letter]),
      steady,
    ).problems,
  ).toEqual([`dead letter dead-letters/0/0: stage-fault of ${rootId}`]);
});

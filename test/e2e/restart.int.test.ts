import { execFileSync } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { settingsOf, signalboxJson, start } from '../integration/signalbox.ts';
import { checkLoad, type Load, takeSnapshot } from './checker/check.ts';
import { readRows } from './checker/rows.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { githubLoad, tellsOfComment } from './load.ts';
import { isReady, runServices, type ServiceProcess, untilReady } from './product.ts';

const infrastructure = inject('infrastructure');
const run = `restart-${randomUUID().slice(0, 8)}`;
const settings = {
  ...settingsOf(infrastructure),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  HOOK: 'secret',
};
const stages = ['normalizer', 'filter', 'mirror-projector', 'decision-journal'];
const load: Load = {
  mark: run,
  tells: tellsOfComment,
  routes: [{ agentUid: run, bindingName: 'desk', passes: () => true }],
};
const patience = { timeout: 60_000, interval: 20 };
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const say = (text: string): void => void process.stderr.write(`  restart: ${text}\n`);

const running = new Set<ServiceProcess['child']>();
let client: OutsideClient;

beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const secret = ['--provider', 'github', '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(settings, 'connections', 'put', run, ...secret);
  await signalboxJson(settings, 'bindings', 'put', run, 'desk', '--connection', run);
  client = await connectOutside(infrastructure);
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await client.close();
});

async function runTracked(services: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const service = await runServices(services, { ...settings, ...more });
  running.add(service.child);
  void service.ended.then(() => running.delete(service.child));
  return service;
}

test('a process that is asked to stop hands its work over and ends with 0, and nothing is done twice', async () => {
  const first = await runTracked(stages);
  await untilReady(first);
  const second = await runTracked(stages);
  await untilReady(second);
  const records = githubLoad({ mark: run, connectionId: run, facts: 20_000, channels: 30, seed: 3 });
  let [published, isFirstGone] = [0, false];
  // Work comes all the time, and some more when the first process is gone.
  const publishing = (async () => {
    for (let more = 10; more > 0 && published < records.length; published += 100) {
      if (isFirstGone) more--;
      await client.publish('raw-provider-facts', records.slice(published, published + 100));
    }
  })();
  const before = await client.held('actor-events');
  await vi.waitUntil(async () => (await client.held('actor-events')) > before, patience);

  first.child.kill('SIGTERM');
  const askedAt = performance.now();
  expect(await first.ended).toMatchObject({ code: 0, signal: null });
  isFirstGone = true;
  const endedMs = performance.now() - askedAt;
  const atEnd = await client.held('actor-events');
  await publishing;
  await vi.waitUntil(() => isSettled(client), patience);
  say(
    `ended after ${seconds(endedMs)}; all ${published} settled ${seconds(performance.now() - askedAt)} after the signal`,
  );
  expect(endedMs).toBeLessThan(10_000);
  expect(await client.held('actor-events')).toBeGreaterThan(atEnd);

  const { problems, counts } = checkLoad(await takeSnapshot(infrastructure, run), load);
  expect(problems).toEqual([]);
  expect(counts).toMatchObject({ raw: published, repeats: 0 });

  second.child.kill('SIGINT');
  expect(await second.ended).toMatchObject({ code: 0, signal: null });
});

test('a second signal ends a process at once, whatever it waits for', async () => {
  const edge = await runTracked(['ingress'], {
    RUNTIME_STOP_MS: '60000',
    INGRESS_CLOSE_TIMEOUT_MS: '60000',
    INGRESS_REQUEST_TIMEOUT_MS: '60000',
  });
  const { hostname: host, port } = new URL(edge.ingressUrl);
  const slow = connect({ host, port: Number(port) });
  await once(slow, 'connect');
  slow.on('error', () => slow.destroy());
  // A webhook that never comes whole: the edge waits for it while it closes.
  slow.write(`POST /webhooks/v1/github/${run}/events HTTP/1.1\r\nhost: edge\r\ncontent-length: 100\r\n\r\n{`);
  await vi.waitUntil(() => isReady(edge), patience);
  edge.child.kill('SIGTERM');
  await vi.waitUntil(async () => !(await isReady(edge)), patience);
  expect(edge.child.exitCode).toBe(null);
  edge.child.kill('SIGTERM');
  const askedAt = performance.now();
  expect(await edge.ended).toMatchObject({ code: 1, signal: null });
  expect(performance.now() - askedAt).toBeLessThan(2_000);
  slow.destroy();
});

/** `signalbox up` in a folder, once it says that it is ready. */
async function up(folder: string) {
  const startedAt = performance.now();
  const { child, ended } = start(['up'], {
    folder,
    settings: { INGRESS_PORT: '0', API_PORT: '0', SIGNALBOX_PROBE_PORT: '0' },
  });
  running.add(child);
  void ended.then(() => running.delete(child));
  let said = '';
  child.stderr?.on('data', (part: string) => {
    said += part;
  });
  await vi.waitFor(() => expect(`${child.exitCode} ${said}`).toMatch(/^null [\s\S]*Ready\./), {
    timeout: 120_000,
    interval: 50,
  });
  const probeUrl = /Probes +(http:\S+)\/livez/.exec(said)?.[1] ?? '';
  await untilReady({ probeUrl });
  const tookMs = performance.now() - startedAt;
  say(`signalbox up answers /readyz after ${seconds(tookMs)}`);
  return { child, ended, said, tookMs, webhooksUrl: /Webhooks +(http:\S+\/webhooks\/v1)\//.exec(said)?.[1] ?? '' };
}

/** The processes that live in a folder, by their command lines. */
const processesIn = (folder: string): readonly string[] =>
  execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(folder));

/** Runs a command in a folder, which finds there how the infrastructure is reached. */
async function inFolder(folder: string, ...args: readonly string[]): Promise<unknown> {
  const { code, out, err } = await start([...args, '--json'], { folder, settings: { HOOK: 'secret' } }).ended;
  expect([code, err.replaceAll(/^Using .*\n/gm, '')]).toEqual([0, '']);
  return JSON.parse(out);
}

test('what `signalbox up` stores is there when it is started again', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-up-')));
  try {
    const first = await up(folder);
    const pids = [...first.said.matchAll(/\(pid (\d+)\)/g)].map(([, pid]) => Number(pid));
    const secret = ['--provider', 'github', '--secret', 'webhookSecret=env:HOOK'];
    await inFolder(folder, 'connections', 'put', 'octo', ...secret);
    await inFolder(folder, 'bindings', 'put', 'iris', 'desk', '--connection', 'octo');
    const [record] = githubLoad({ mark: run, connectionId: 'octo', facts: 1, channels: 1, seed: 1 });
    const body = record?.fact.body ?? '';
    const eventId = randomUUID();
    const send = async (webhooksUrl: string): Promise<number> => {
      const signature = createHmac('sha256', 'secret').update(body).digest('hex');
      const response = await fetch(`${webhooksUrl}/github/octo/events`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-github-event': 'issue_comment',
          'x-github-delivery': eventId,
          'x-hub-signature-256': `sha256=${signature}`,
        },
        body,
      });
      await response.arrayBuffer();
      return response.status;
    };
    // The edge learns of a new connection through the log, a moment after it was stored.
    await vi.waitFor(async () => expect(await send(first.webhooksUrl)).toBe(200), patience);
    await vi.waitFor(async () => {
      expect(JSON.stringify(await inFolder(folder, 'why', eventId))).toContain('"topic":"actor-events"');
    }, patience);
    const [bindings, journeys, topics] = await Promise.all([
      inFolder(folder, 'bindings', 'list'),
      inFolder(folder, 'why', eventId),
      inFolder(folder, 'topics'),
    ]);
    expect(bindings).toMatchObject([{ agentUid: 'iris', name: 'desk' }]);

    first.child.kill('SIGINT');
    expect(await first.ended).toMatchObject({ code: 0, signal: null });
    await vi.waitFor(() => expect(processesIn(folder)).toEqual([]), patience);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');

    const second = await up(folder);
    expect(second.tookMs).toBeLessThan(30_000);
    expect(await inFolder(folder, 'bindings', 'list')).toEqual(bindings);
    expect(await inFolder(folder, 'why', eventId)).toEqual(journeys);
    expect(await inFolder(folder, 'topics')).toEqual(topics);
    const redisUrl = /Redis +(redis:\S+)/.exec(second.said)?.[1] ?? '';
    const rows = await readRows(redisUrl, ['mirror-projector']);
    expect([...rows].filter(([name]) => name.includes('/entries:')).map(([, { v }]) => v)).toMatchObject([
      { signalChannelId: record?.key },
    ]);
    // It also remembers that the route has handled this event.
    expect(await send(second.webhooksUrl)).toBe(200);
    await vi.waitFor(async () => {
      expect(JSON.stringify(await inFolder(folder, 'why', eventId))).toContain('"reason":"same_event"');
    }, patience);

    second.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 0, signal: null });
    await vi.waitFor(() => expect(processesIn(folder)).toEqual([]), patience);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 240_000);

import { execFile } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { settingsOf, signalbox, signalboxJson } from '../integration/signalbox.ts';
import { readLog } from './checker/log.ts';
import { readRows } from './checker/rows.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { everyService, runServices, type ServiceProcess, stop, untilReady } from './product.ts';

const execute = promisify(execFile);
const infrastructure = inject('infrastructure');
const run = `job-${randomUUID().slice(0, 8)}`;
const [webhookSecret, standardSecret] = [randomUUID(), Buffer.from(randomUUID()).toString('base64')];
const settings = {
  ...settingsOf(infrastructure),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  HOOK: webhookSecret,
  STANDARD_HOOK: standardSecret,
  NORMALIZER_PROBE_AFTER_MS: '3000',
};
const [github, standard, sick] = [`${run}-github`, `${run}-standard`, `${run}-sick`];
const agent = `${run}-iris`;
const channel = `github:e2e/${run}#7`;
const patience = { timeout: 60_000, interval: 200 };
const exampleOf = (name: string): string => fileURLToPath(new URL(`../../docs/examples/${name}`, import.meta.url));

let services: ServiceProcess;
let client: OutsideClient;
const folder = mkdtempSync(join(tmpdir(), 'signalbox-main-job-'));

beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const put = (id: string, provider: string, variable: string) =>
    signalboxJson(
      settings,
      ...['connections', 'put', id, '--provider', provider, '--secret', `webhookSecret=env:${variable}`],
    );
  await Promise.all([put(github, 'github', 'HOOK'), put(standard, 'standard-webhooks', 'STANDARD_HOOK')]);
  await signalboxJson(
    settings,
    ...['connections', 'put', sick, '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'],
    ...['--config', '{"ownAccountIds":[21031067]}'],
  );
  await Promise.all([
    signalboxJson(settings, 'bindings', 'put', agent, 'desk', '--connection', github),
    signalboxJson(
      settings,
      ...['bindings', 'put', agent, 'bugs', '--connection', github, '--filter'],
      "signal.kind == 'entry_received' && signal.entry.text.contains('bug')",
    ),
    signalboxJson(settings, 'bindings', 'put', agent, 'standard', '--connection', standard),
    signalboxJson(settings, 'bindings', 'put', agent, 'sick', '--connection', sick),
  ]);
  services = await runServices(everyService, settings);
  client = await connectOutside(infrastructure);
  await untilReady(services);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await client.close();
  expect(await stop(services)).toMatchObject({ code: 0 });
});

const comment = (id: number, action: string, body: string): string => {
  const user = { id: 21031067, login: 'octocat', type: 'User' };
  return JSON.stringify({
    action,
    repository: { full_name: `e2e/${run}`, private: false },
    sender: user,
    issue: { number: 7, title: 'Spelling error', state: 'open' },
    comment: { id, user, body, updated_at: '2031-02-28T06:00:00Z' },
  });
};

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const post = async (path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> => {
  const response = await fetch(`${services.ingressUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, body: await response.json() };
};

const githubPath = `/webhooks/v1/github/${github}/events`;
const signed = (body: string): string => `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`;
const githubHeaders = (eventId: string, body: string, event = 'issue_comment') => ({
  'x-github-event': event,
  'x-github-delivery': eventId,
  'x-hub-signature-256': signed(body),
});

/** Sends a webhook as GitHub does, and answers the id of its raw fact. */
async function deliver(eventId: string, body: string, event = 'issue_comment', path = githubPath): Promise<string> {
  const { status, body: said } = await post(path, githubHeaders(eventId, body, event), body);
  expect([status, said]).toEqual([200, { id: expect.any(String) }]);
  // Just compared.
  return (said as { id: string }).id;
}

interface Hop {
  readonly type: string;
  readonly topic?: string;
  readonly stage?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly bindingName?: string;
  readonly actorEventId?: string;
  readonly letter?: { readonly code: string };
  readonly next: readonly Hop[];
}

interface Journey {
  readonly rootId: string;
  readonly hops: readonly Hop[];
}

/** A journey as lines: what came of what. */
const linesOf = (hops: readonly Hop[], indent = ''): readonly string[] =>
  hops
    .flatMap((hop) => {
      const { stage, topic, status, reason, bindingName, actorEventId, letter } = hop;
      const said =
        hop.type === 'record'
          ? [stage, '>', topic, letter?.code]
          : [stage, status, reason, bindingName, actorEventId && 'with an event'];
      return [{ line: indent + said.filter(Boolean).join(' '), below: linesOf(hop.next, `${indent}  `) }];
    })
    .toSorted((a, b) => (a.line < b.line ? -1 : 1))
    .flatMap(({ line, below }) => [line, ...below]);

/** Asks the real command line what became of something. */
async function why(...ids: readonly string[]): Promise<readonly Journey[]> {
  // The command's own contract; its hops are compared by the tests.
  const told = (await signalboxJson(settings, 'why', ...ids)) as { readonly journeys: readonly Journey[] };
  return told.journeys;
}

const settled = (): Promise<boolean> => vi.waitUntil(() => isSettled(client), patience);

/** The whole way of one fact, told when everything has come to rest. */
async function wayOf(...ids: readonly string[]): Promise<readonly string[]> {
  await settled();
  const journeys = await why(...ids);
  expect(journeys).toHaveLength(1);
  return journeys.flatMap(({ hops }) => linesOf(hops));
}

const accepted = (binding: string): readonly string[] => [
  '    filter > accepted-facts',
  `      mirror-projector accepted ${binding} with an event`,
  '        mirror-projector > actor-events',
];
const toBoth = ['> raw-provider-facts', '  normalizer > normalized-facts', ...accepted('bugs'), ...accepted('desk')];
const toDesk = [
  '> raw-provider-facts',
  '  normalizer > normalized-facts',
  ...accepted('desk'),
  '    filter filtered bugs',
];

test('a signed webhook wakes the agent, and its journey is told by every id', async () => {
  const eventId = randomUUID();
  const rootId = await deliver(eventId, comment(1, 'created', 'There is a bug in the third line.'));
  expect(await wayOf(rootId)).toEqual(toBoth);

  const log = await readLog(infrastructure.kafkaBrokers.split(','), ['actor-events']);
  const events = (log.get('actor-events') ?? []).filter((record) => record.rootId === rootId);
  expect(events.map(({ value }) => value)).toEqual(
    ['bugs', 'desk'].map((bindingName) => ({
      specversion: '1.0',
      id: eventId,
      source: `signal://github/${encodeURIComponent(channel)}`,
      type: 'github.issue_comment.created',
      subject: 'signal_gateway_entries:issue_comment:1',
      time: expect.any(String),
      datacontenttype: 'application/json',
      data: {
        session: { agentUid: agent, sessionId: `signal-channel:${channel}`, bindingName },
        channel: {
          id: channel,
          kind: 'issue',
          replyMode: 'channel',
          name: `e2e/${run}#7 Spelling error`,
          visibility: 'public',
        },
        entry: {
          signalChannelId: channel,
          sourceEntryId: 'issue_comment:1',
          text: 'There is a bug in the third line.',
          author: { id: '21031067', displayName: 'octocat', kind: 'user' },
          documentId: expect.stringMatching(/^signal-gateway-entry:[\w-]{43}$/),
          providerTime: '2031-02-28T06:00:00.000Z',
        },
        senderKey: '21031067',
        availableAt: expect.any(Number),
      },
    })),
  );

  const rows = await readRows(infrastructure.redisUrl, ['mirror-projector']);
  const entries = [...rows].filter(([name]) => name.endsWith(`/entries:${channel}|issue_comment:1`));
  expect(entries.map(([, row]) => row)).toMatchObject([
    { v: { text: 'There is a bug in the third line.', author: { displayName: 'octocat' } } },
  ]);
  expect(JSON.stringify(entries)).not.toContain(rootId);

  // The id of the delivery, the entry in its channel, and the event that woke the agent, which has the delivery's id.
  for (const ids of [[eventId], [channel, 'issue_comment:1']]) {
    expect((await why(...ids)).map((journey) => journey.rootId)).toEqual([rootId]);
  }
  const told = await signalbox(settings, 'why', eventId);
  expect(told).toMatchObject({ code: 0 });
  const [head = '', ids = '', , ends = ''] = told.out.split('\n');
  expect(head).toBe(rootId);
  expect(ids).toBe(`connection ${github} · ${channel} · issue_comment:1 · event ${eventId}`);
  expect(ends).toBe(`accepted for ${agent}/bugs, accepted for ${agent}/desk`);
  expect(told.out).toMatch(/\+0 ms {2}[\d:.]{12} {2}raw-provider-facts\/\d+\/\d+\n/);
  expect(told.out).toMatch(/normalizer → normalized-facts\/\d+\/\d+\n/);
  expect(told.out).toMatch(new RegExp(`filter → accepted-facts/\\d+/\\d+ +for ${agent}/desk\n`));
  expect(told.out).toMatch(new RegExp(`mirror-projector: ✔ accepted +for ${agent}/desk +event ${eventId}`));
  expect(told.out).toMatch(/mirror-projector → actor-events\/\d+\/\d+\n?/);
  expect(told.out).not.toContain('third line');
});

test('a filtered fact ends as filtered on that route alone', async () => {
  expect(await wayOf(await deliver(randomUUID(), comment(2, 'created', 'Looks fine.')))).toEqual(toDesk);
});

test('an event that concerns nobody ends as ignored, with its name', async () => {
  expect(await wayOf(await deliver(randomUUID(), comment(2, 'pinned', 'Looks fine.')))).toEqual([
    '> raw-provider-facts',
    '  normalizer ignored_unknown_event issue_comment.pinned',
  ]);
});

test('the same delivery again ends as duplicate, and both journeys are told under its id', async () => {
  const eventId = randomUUID();
  const body = comment(3, 'created', 'Looks fine.');
  const first = await deliver(eventId, body);
  const again = await deliver(eventId, body);
  expect(await wayOf(again)).toEqual([
    '> raw-provider-facts',
    '  normalizer > normalized-facts',
    '    filter > accepted-facts',
    '      mirror-projector duplicate same_event desk',
    '    filter filtered bugs',
  ]);
  expect((await why(eventId)).map(({ rootId }) => rootId)).toEqual([first, again]);
});

test('an entry that comes after its removal ends as dropped, and stays out of the mirror', async () => {
  const removed = await deliver(randomUUID(), comment(4, 'deleted', 'Looks fine.'));
  const late = await deliver(randomUUID(), comment(4, 'created', 'Looks fine.'));
  expect(await wayOf(removed)).toEqual([
    '> raw-provider-facts',
    '  normalizer > normalized-facts',
    '    filter > accepted-facts',
    '      mirror-projector accepted entry_removed desk',
    '    filter filtered bugs',
  ]);
  expect(await wayOf(late)).toEqual([
    '> raw-provider-facts',
    '  normalizer > normalized-facts',
    '    filter > accepted-facts',
    '      mirror-projector dropped_tombstoned desk',
    '    filter filtered bugs',
  ]);
  const rows = await readRows(infrastructure.redisUrl, ['mirror-projector']);
  expect([...rows.keys()].filter((name) => name.includes(`/entries:${channel}|issue_comment:4`))).toEqual([]);
});

test('a handshake is answered and published to nobody', async () => {
  const body = JSON.stringify({ zen: 'Keep it logically awesome.', hook_id: 1 });
  const eventId = randomUUID();
  const before = await client.held('raw-provider-facts');
  const response = await fetch(`${services.ingressUrl}${githubPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...githubHeaders(eventId, body, 'ping') },
    body,
  });
  expect(response.status).toBe(200);
  expect(await wayOf(eventId)).toEqual(['ingress answered_handshake']);
  expect(await client.held('raw-provider-facts')).toBe(before);
});

test('a malformed record from outside ends as dead letter and holds nobody up', async () => {
  const place = await client.publishBytes('raw-provider-facts', channel, Buffer.from('{"provider":"github"}'));
  const after = await deliver(randomUUID(), comment(5, 'created', 'Looks fine.'));
  expect(await wayOf(place)).toEqual([
    '> raw-provider-facts',
    '  normalizer dead_letter frame-invalid',
    '    normalizer > dead-letters frame-invalid',
  ]);
  expect(await wayOf(after)).toEqual(toDesk);
  const { out } = await signalbox(settings, 'why', place);
  expect(out).toMatch(/✗ dead_letter +frame-invalid/);
});

const hasProgram = (name: string): Promise<boolean> =>
  execute('sh', ['-c', `command -v ${name}`]).then(
    () => true,
    () => false,
  );
const hasKcat = (await Promise.all(['kcat', 'curl', 'jq'].map(hasProgram))).every(Boolean);

/** The example's comment, in a repository of this run. */
function exampleBody(id: number): string {
  const path = join(folder, `comment-${id}.json`);
  const text = readFileSync(exampleOf('comment.json'), 'utf8');
  writeFileSync(path, text.replaceAll('octo/repo', `e2e/${run}`).replace('492700400', String(id)));
  return path;
}

test.skipIf(!hasKcat)('what kcat publishes as the page describes wakes the agent', async () => {
  const eventId = `kcat-${randomUUID()}`;
  await execute(exampleOf('publish.sh'), ['github', github, 'issue_comment', eventId, exampleBody(6)], {
    env: { ...process.env, ...settings },
  });
  expect(await wayOf(eventId)).toEqual(toBoth);
});

test.skipIf(!hasKcat)('what kcat publishes without the frame ends as dead letter, its bytes kept', async () => {
  const key = `kcat-${randomUUID()}`;
  const bare = join(folder, 'bare.json');
  writeFileSync(bare, `{"bare":"${key}"}`);
  const command = ['-P', '-b', infrastructure.kafkaBrokers, '-t', 'raw-provider-facts', '-k', key];
  await execute('kcat', [...command, '-X', 'topic.partitioner=murmur2_random', bare]);
  await settled();
  const log = await readLog(infrastructure.kafkaBrokers.split(','), ['dead-letters']);
  const letters = (log.get('dead-letters') ?? []).filter((record) => record.key === key);
  expect(letters.map(({ value }) => value)).toMatchObject([
    {
      code: 'frame-invalid',
      stage: 'normalizer',
      topic: 'raw-provider-facts',
      value: Buffer.from(`{"bare":"${key}"}`).toString('base64'),
    },
  ]);
});

/** A Python that has confluent-kafka, in a folder that goes away; undefined where it cannot be had. */
async function pythonWithClient(): Promise<string | undefined> {
  const venv = join(folder, 'venv');
  try {
    await execute('python3', ['-m', 'venv', venv]);
    await execute(join(venv, 'bin', 'pip'), ['install', '-q', 'confluent-kafka']);
    return join(venv, 'bin', 'python');
  } catch (error) {
    process.stderr.write(`  SKIPPED: no Python with confluent-kafka here: ${String(error)}\n`);
    return undefined;
  }
}

test('what the Python example publishes wakes the agent', async ({ skip }) => {
  const python = await pythonWithClient();
  if (python === undefined) return skip('confluent-kafka could not be installed');
  const eventId = `python-${randomUUID()}`;
  await execute(python, [exampleOf('publish.py'), 'github', github, 'issue_comment', eventId, exampleBody(8)], {
    env: { ...process.env, ...settings },
  });
  expect(await wayOf(eventId)).toEqual(toBoth);
});

const standardPath = `/webhooks/v1/standard-webhooks/${standard}/events`;

function standardHeaders(id: string, body: string, at = Math.floor(Date.now() / 1_000)) {
  const key = Buffer.from(standardSecret, 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` };
}

test('a webhook of any sender wakes the agent', async () => {
  const [id, body] = [randomUUID(), JSON.stringify({ type: 'invoice.paid', data: { amount: 12 } })];
  const { status } = await post(standardPath, standardHeaders(id, body), body);
  expect(status).toBe(200);
  expect(await wayOf(id)).toEqual(['> raw-provider-facts', '  normalizer > normalized-facts', ...accepted('standard')]);
});

test('a connection that cannot be read is unavailable until it is tried and can, and our own messages wake nobody', async () => {
  const path = githubPath.replace(github, sick);
  const reason = async (): Promise<unknown> => {
    const binding = await signalboxJson(settings, 'bindings', 'show', agent, 'sick');
    return (binding as { readonly unavailableReason: unknown }).unavailableReason;
  };
  const withoutComment = JSON.stringify({
    action: 'created',
    repository: { full_name: `e2e/${run}` },
    issue: { number: 7 },
  });
  for (let number = 0; number < 10; number++) await deliver(randomUUID(), withoutComment, 'issue_comment', path);
  const told = /^10 deliveries in a row could not be read, the last one: payload-invalid/;
  await vi.waitUntil(async () => told.test(String(await reason())), patience);

  const triedAt = Date.now() + 3_000;
  await vi.waitUntil(() => Date.now() >= triedAt, patience);
  const own = await deliver(randomUUID(), comment(10, 'created', 'We said so.'), 'issue_comment', path);
  expect(await wayOf(own)).toEqual([
    '> raw-provider-facts',
    '  normalizer ignored_own_message it tells of what we wrote ourselves',
  ]);
  expect(await reason()).toBeNull();
  const others = comment(11, 'created', 'Did we?').replaceAll('21031067', '7');
  expect(await wayOf(await deliver(randomUUID(), others, 'issue_comment', path))).toEqual([
    '> raw-provider-facts',
    '  normalizer > normalized-facts',
    ...accepted('sick'),
  ]);
});

test('what is not genuine is refused, and nothing is published', async () => {
  await settled();
  const topics = ['raw-provider-facts', 'decisions', 'dead-letters'];
  const held = () => Promise.all(topics.map(client.held));
  const before = await held();
  const body = comment(9, 'created', 'Looks fine.');
  const headers = githubHeaders(randomUUID(), body);
  const { 'x-hub-signature-256': signature, ...unsigned } = headers;
  const { 'x-github-delivery': _, ...nameless } = headers;
  const refused = { status: 401, body: { error: 'signature invalid' } };
  expect(await post(githubPath, headers, body.replace('fine', 'fIne'))).toEqual(refused);
  const flipped = signature.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  expect(await post(githubPath, { ...headers, 'x-hub-signature-256': flipped }, body)).toEqual(refused);
  expect(await post(githubPath, unsigned, body)).toEqual(refused);
  expect(await post(githubPath, nameless, body)).toEqual({ status: 400, body: { error: 'webhook invalid' } });
  expect(await post(githubPath.replace(github, `${github}x`), headers, body)).toEqual({
    status: 404,
    body: { error: 'unknown webhook' },
  });

  const [id, sent] = [randomUUID(), JSON.stringify({ type: 'invoice.paid' })];
  const old = Math.floor(Date.now() / 1_000) - 400;
  expect(await post(standardPath, standardHeaders(id, sent, old), sent)).toEqual(refused);
  const { 'webhook-timestamp': __, ...timeless } = standardHeaders(id, sent);
  expect(await post(standardPath, timeless, sent)).toEqual(refused);
  expect(await post(standardPath, standardHeaders(id, sent), sent.replace('paid', 'Paid'))).toEqual(refused);

  await settled();
  expect(await held()).toEqual(before);
});

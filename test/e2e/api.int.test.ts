import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { settingsOf, signalbox, signalboxJson } from '../integration/signalbox.ts';
import { everyService, runServices, type ServiceProcess, stop, untilReady } from './product.ts';

const settings = {
  ...settingsOf(inject('infrastructure')),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
};
const patience = { timeout: 60_000, interval: 100 };
const webhookSecret = 'correct horse battery staple';
// The log is shared with other tests.
const [agent, connection, repository] = [`api-${randomUUID()}`, 'api-octo', `octo/${randomUUID()}`];
const signalChannelId = `github:${repository}#7`;
const desk = `/agents/${agent}/signal-bindings/desk`;

let product: ServiceProcess;
let token = '';
let tokenId = '';

beforeAll(async () => {
  await signalbox(settings, 'migrate');
  product = await runServices([...everyService, 'api'], settings);
  await untilReady(product);
  const scopes = [
    'bindings:read',
    'bindings:write',
    'bindings:delete',
    'connections:write',
    'mirror:read',
    'actor-events:read',
    'journeys:read',
  ];
  const made = await signalboxJson(
    settings,
    'tokens',
    'create',
    'e2e',
    ...scopes.flatMap((scope) => ['--scope', scope]),
  );
  ({ token, id: tokenId } = made as { readonly token: string; readonly id: string });
});
afterAll(async () => {
  expect(await stop(product)).toMatchObject({ code: 0 });
});

async function ask(http: string, body?: unknown) {
  const [method = 'GET', path = ''] = http.split(' ');
  const answer = await fetch(`${product.apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
}

/** A comment on an issue, as GitHub sends it. */
async function comment(id: number, text: string): Promise<string> {
  const eventId = randomUUID();
  const at = '2031-03-04T10:00:00Z';
  const user = { id: 1, login: 'octocat', type: 'User', html_url: 'https://github.com/octocat' };
  const url = `https://github.com/${repository}/issues/7`;
  const body = JSON.stringify({
    action: 'created',
    issue: {
      id: 1,
      number: 7,
      title: 'Spelling error',
      state: 'open',
      user,
      html_url: url,
      body: null,
      created_at: at,
      updated_at: at,
    },
    comment: { id, user, body: text, html_url: `${url}#issuecomment-${id}`, created_at: at, updated_at: at },
    repository: { id: 1, full_name: repository, private: false, html_url: `https://github.com/${repository}` },
    sender: user,
  });
  const answer = await fetch(`${product.ingressUrl}/webhooks/v1/github/${connection}/events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issue_comment',
      'x-github-delivery': eventId,
      'x-hub-signature-256': `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`,
    },
    body,
  });
  expect(answer.status).toBe(200);
  return eventId;
}

const Page = z.object({
  signalEntries: z.array(z.object({ sourceEntryId: z.string() })).optional(),
  signalChannels: z.array(z.object({ id: z.string() })).optional(),
  actorEvents: z.array(z.object({ event: z.object({ data: z.looseObject({}) }) })).optional(),
  next: z.string().nullable(),
});

/** All pages of a list: others fill the log too, and one page looks back through so many records alone. */
async function pagesOf(http: string): Promise<readonly z.infer<typeof Page>[]> {
  const pages: z.infer<typeof Page>[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = Page.parse((await ask(`${http}${cursor === undefined ? '' : `&cursor=${cursor}`}`)).body);
    pages.push(page);
    cursor = page.next;
  }
  return pages;
}

async function entriesOf(http: string): Promise<readonly string[]> {
  return (await pagesOf(http)).flatMap((page) => page.signalEntries ?? []).map(({ sourceEntryId }) => sourceEntryId);
}

test('a binding made over HTTP routes at once, its facts are read back and tried, and a revoked token ends it', async () => {
  const put = await ask(`PUT /agents/${agent}/signal-bindings/github/desk`, {
    connectionId: connection,
    config: { webhookSecret },
    filters: { cel: "signal.entry.text != null && signal.entry.text.contains('bug')" },
    windows: { addressedMs: 1_500 },
  });
  const windows = { addressedMs: 1_500 };
  expect(put).toMatchObject({ status: 200, body: { signalBinding: { agentUid: agent, enabled: true, windows } } });
  expect((await ask(`GET /signal-bindings?agent=${agent}`)).body).toEqual({ signalBindings: [put.body.signalBinding] });

  const passed = await vi.waitFor(() => comment(1, 'a bug'), patience);
  const filtered = await comment(2, 'a question');
  const statuses = async (id: string): Promise<string> => JSON.stringify((await ask(`GET /journeys?id=${id}`)).body);
  await vi.waitFor(async () => expect(await statuses(passed)).toContain('"status":"accepted"'), patience);
  await vi.waitFor(async () => expect(await statuses(filtered)).toContain('"status":"filtered"'), patience);

  const channel = `/signal-channels/${encodeURIComponent(signalChannelId)}`;
  expect((await ask(`GET ${channel}`)).body).toMatchObject({ signalChannel: { id: signalChannelId, kind: 'issue' } });
  const entry = encodeURIComponent('issue_comment:1');
  expect((await ask(`GET ${channel}/signal-entries/${entry}`)).body).toMatchObject({ signalEntry: { text: 'a bug' } });
  expect(await entriesOf(`GET ${channel}/signal-entries?limit=20`)).toEqual(['issue_comment:1']);
  expect(await entriesOf(`GET ${channel}/signal-entries?author=1`)).toEqual(['issue_comment:1']);
  expect(await entriesOf(`GET ${channel}/signal-entries?author=1&withAttachments=true`)).toEqual([]);
  const channelIds = (await pagesOf('GET /signal-channels?kind=issue&limit=100')).flatMap(({ signalChannels = [] }) =>
    signalChannels.map(({ id }) => id),
  );
  expect(channelIds).toContain(signalChannelId);
  const sessionId = encodeURIComponent(`signal-channel:${signalChannelId}`);
  for (const query of ['limit=20', `sessionId=${sessionId}`]) {
    const events = (await pagesOf(`GET /agents/${agent}/actor-events?${query}`)).flatMap(
      (page) => page.actorEvents ?? [],
    );
    expect(events).toMatchObject([{ event: { data: { entry: { text: 'a bug' }, channel: { id: signalChannelId } } } }]);
  }
  expect(await ask(`GET ${channel}/signal-entries/${encodeURIComponent('issue_comment:2')}`)).toMatchObject({
    status: 404,
    body: { code: 'entry-not-found' },
  });

  const tried = await ask(`POST ${desk}/test`, {});
  expect(tried.body).toMatchObject({ facts: [{ outcome: 'filtered' }, { outcome: 'passes' }] });

  expect(await ask(`PATCH ${desk}`, { enabled: false })).toMatchObject({ body: { signalBinding: { enabled: false } } });
  const late = await comment(3, 'another bug');
  await vi.waitFor(async () => expect(await statuses(late)).toContain('"status":"binding_disabled"'), patience);
  expect(await ask(`DELETE ${desk}`)).toMatchObject({ status: 200 });
  expect((await ask(`GET /signal-bindings?agent=${agent}`)).body).toEqual({ signalBindings: [] });

  await signalboxJson(settings, 'tokens', 'revoke', tokenId);
  await vi.waitFor(
    async () => expect(await ask('GET /signal-bindings')).toMatchObject({ body: { code: 'token-revoked' } }),
    patience,
  );
});

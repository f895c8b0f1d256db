import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { channels, entries } from '../../schemas/mirror.ts';
import { exampleFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { BusError, type ErrorCode, errors } from '../../shared/errors.ts';
import { routeOf } from '../../shared/operation.ts';
import { type ApiUnderTest, apiUnderTest } from './api-under-test.ts';
import { bodyCodes, codesOf, commonCodes } from './openapi.ts';
import { operations } from './operations/index.ts';

const desk = '/agents/iris/signal-bindings/desk';
const webhookSecret = 'correct horse battery staple';

describe('who calls', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await apiUnderTest();
    await api.connect('octo', 'github', { webhookSecret });
    await api.bind({});
    await api.bind({ agentUid: 'zoe', name: 'hers' });
  });
  afterAll(() => api.stop());

  const codeOf = async (http: string, token: string | null, headers: Readonly<Record<string, string>> = {}) => {
    const { status, body } = await api.ask(http, { token, headers });
    return [status, body.code];
  };

  test.each(operations.map((operation) => [operation.name, operation] as const))(
    '%s: without a token, with a wrong, expired or revoked one, or without its scope, nothing is answered',
    async (_, operation) => {
      const { method, path } = routeOf(operation);
      const http = `${method} ${path.replaceAll(/:\w+/g, 'x')}`;
      const others = operations.map(({ scope }) => scope).filter((scope) => scope !== operation.scope);
      const right = await api.token();
      const last = right.at(-1) === 'A' ? 'B' : 'A';
      expect(await codeOf(http, null)).toEqual([401, 'token-missing']);
      expect(await codeOf(http, null, { authorization: `Basic ${right}` })).toEqual([401, 'token-missing']);
      expect(await codeOf(http, `${right.slice(0, -1)}${last}`)).toEqual([401, 'token-invalid']);
      expect(await codeOf(http, `sbx_000000000000_${'A'.repeat(43)}`)).toEqual([401, 'token-invalid']);
      expect(await codeOf(http, 'x')).toEqual([401, 'token-invalid']);
      expect(await codeOf(http, await api.token({ expiresAt: Date.now() }))).toEqual([401, 'token-expired']);
      expect(await codeOf(http, await api.token({ revokedAt: 1 }))).toEqual([401, 'token-revoked']);
      expect(await codeOf(http, await api.token({ scopes: others }))).toEqual([403, 'scope-missing']);
    },
  );

  test.each(operations.filter(({ reach }) => reach !== 'own').map((operation) => [operation.name, operation] as const))(
    "%s: another agent's token is refused, and changes nothing",
    async (_, operation) => {
      const { method, path } = routeOf(operation);
      const url = path.replace(':agentUid', 'iris').replace(':bindingName', 'desk').replaceAll(/:\w+/g, 'github');
      const before = api.world.bindings.all();
      const body =
        method === 'PUT' ? { connectionId: 'octo' } : method === 'GET' || method === 'DELETE' ? undefined : {};
      const answered = await api.ask(`${method} ${url}`, { token: await api.token({ agents: ['zoe'] }), body });
      expect(answered).toMatchObject({ status: 403, body: { code: 'agent-forbidden' } });
      expect(api.world.bindings.all()).toEqual(before);
    },
  );

  test("a list shows the token's agents alone", async () => {
    const token = await api.token({ agents: ['zoe'] });
    const { body } = await api.ask('GET /signal-bindings', { token });
    expect(body).toMatchObject({ signalBindings: [{ agentUid: 'zoe', name: 'hers' }] });
    expect(await codeOf('GET /signal-bindings?agent=IRIS', token)).toEqual([403, 'agent-forbidden']);
  });

  test('an unknown path is told to nobody unknown', async () => {
    expect(await codeOf('GET /nowhere', null)).toEqual([401, 'token-missing']);
  });

  test('a challenge says how to sign in, and what was wrong', async () => {
    expect((await api.ask('GET /signal-bindings', { token: null })).headers['www-authenticate']).toBe(
      'Bearer realm="signalbox"',
    );
    expect((await api.ask('GET /signal-bindings', { token: 'x' })).headers['www-authenticate']).toContain(
      'invalid_token',
    );
  });

  test('no token stands in a log', async () => {
    const token = await api.token();
    await api.ask('GET /signal-bindings', { token });
    await api.ask(`PATCH ${desk}`, { token, body: { enabled: true } });
    expect(api.lines.length).toBeGreaterThan(1);
    expect(JSON.stringify(api.lines)).not.toContain(token.slice(-43));
  });
});

describe('limits', () => {
  let api: ApiUnderTest;
  afterEach(() => api.stop());

  test('a token that is used too often is told when to come again, and others are not touched', async () => {
    api = await apiUnderTest({ settings: { burst: 2, requestsPerMinute: 6 } });
    const token = await api.token();
    const answers = [];
    for (let count = 0; count < 3; count++) answers.push(await api.ask('GET /signal-bindings', { token }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]).toMatchObject({ headers: { 'retry-after': '10' }, body: { code: 'rate-limited', retry: true } });
    expect((await api.ask('GET /signal-bindings')).status).toBe(200);
  });

  test('a body over the bound is cut off before it is read as JSON', async () => {
    api = await apiUnderTest({ settings: { maxBodyBytes: 1_024 } });
    const body = { connectionId: 'octo', config: { webhookSecret: 'x'.repeat(2_000) } };
    expect(await api.ask('PUT /agents/iris/signal-bindings/github/desk', { body })).toMatchObject({
      status: 413,
      body: { code: 'body-too-large' },
    });
  });

  test('more changes than may wait are put off', async () => {
    api = await apiUnderTest({
      settings: { maxWaiting: 1, workTimeoutMs: 50 },
      publishing: (publisher) => ({ ...publisher, publish: () => new Promise(() => undefined) }),
    });
    await api.connect('octo', 'github', { webhookSecret });
    await api.bind({});
    const three = await Promise.all([1, 2, 3].map(() => api.ask(`PATCH ${desk}`, { body: { enabled: false } })));
    expect(three.map(({ body }) => body.code)).toEqual([
      'infrastructure-unavailable',
      'infrastructure-unavailable',
      'overloaded',
    ]);
  });

  test('a request in work is answered while it closes, and its connection ends', async () => {
    const begun = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<undefined>();
    api = await apiUnderTest({
      hinder: {
        readMirror: () => {
          begun.resolve();
          return answer.promise;
        },
      },
    });
    await api.app.listen({ port: 0 });
    const headers = { authorization: `Bearer ${await api.token()}` };
    const asked = fetch(`${api.app.listeningOrigin}/signal-channels/x`, { headers });
    await begun.promise;
    const closed = api.app.close();
    await vi.waitUntil(() => !api.app.server.listening);
    answer.resolve(undefined);
    const answered = await asked;
    expect([answered.status, answered.headers.get('connection')]).toEqual([404, 'close']);
    await closed;
  });
});

describe('problems', () => {
  let api: ApiUnderTest;
  let faulty: ApiUnderTest;
  const reached = new Set<ErrorCode>();
  const put = 'PUT /agents/iris/signal-bindings/github/desk';

  beforeAll(async () => {
    api = await apiUnderTest({ settings: { maxBodyBytes: 2_048 } });
    await api.connect('octo', 'github', { webhookSecret });
    await api.connect('talk', 'chat', { token: 'x' });
    await api.bind({});
    await api.bind({ agentUid: 'zoe' });
    await api.bind({ agentUid: 'max', name: 'fax', adapter: 'fax', connectionId: 'gone' });
    faulty = await apiUnderTest({
      settings: { burst: 1, requestsPerMinute: 1 },
      hinder: {
        readMirror: () => Promise.reject(new TypeError(`reading ${webhookSecret}`)),
        change: () => Promise.reject(new BusError('overloaded')),
        tellJourneys: () => Promise.reject(new BusError('infrastructure-unavailable', { host: 'kafka:9092' })),
      },
    });
  });
  afterAll(() => Promise.all([api.stop(), faulty.stop()]));

  const ofIris = () => api.token({ agents: ['iris'] });
  const ways: readonly (readonly [ErrorCode, () => Promise<Awaited<ReturnType<ApiUnderTest['ask']>>>])[] = [
    ['token-missing', () => api.ask('GET /signal-bindings', { token: null })],
    ['token-invalid', () => api.ask('GET /signal-bindings', { token: 'x' })],
    ['token-expired', async () => api.ask('GET /signal-bindings', { token: await api.token({ expiresAt: 1 }) })],
    ['token-revoked', async () => api.ask('GET /signal-bindings', { token: await api.token({ revokedAt: 1 }) })],
    [
      'scope-missing',
      async () => api.ask('GET /signal-bindings', { token: await api.token({ scopes: ['mirror:read'] }) }),
    ],
    ['agent-forbidden', async () => api.ask('GET /journeys?id=x', { token: await ofIris() })],
    [
      'connection-forbidden',
      async () => api.ask(put, { token: await ofIris(), body: { connectionId: 'octo', config: { webhookSecret } } }),
    ],
    ['operation-not-found', () => api.ask('GET /nowhere')],
    ['operation-not-found', () => api.ask('POST /signal-bindings', { body: {} })],
    ['operation-not-found', () => api.ask('GET /signal-channels/%zz')],
    ['body-malformed', () => api.ask(put, { body: '{"a":', headers: { 'content-type': 'application/json' } })],
    ['body-malformed', () => api.ask(put, { body: '[]', headers: { 'content-type': 'application/json' } })],
    [
      'body-malformed',
      () => api.ask(put, { body: '{"__proto__":1}', headers: { 'content-type': 'application/json' } }),
    ],
    ['body-too-large', () => api.ask(put, { body: { config: { a: 'x'.repeat(3_000) } } })],
    ['media-type-unsupported', () => api.ask(put, { body: '<a/>', headers: { 'content-type': 'text/xml' } })],
    ['media-type-unsupported', () => api.ask(put, { body: 'a', headers: { 'content-type': 'text/plain' } })],
    ['input-invalid', () => api.ask(put, { body: {} })],
    ['input-invalid', () => api.ask(put, { body: { connectionId: 'octo', enabeld: false } })],
    ['input-invalid', () => api.ask(put, { body: { connectionId: 'octo', agentUid: 'zoe' } })],
    ['input-invalid', () => api.ask(`${put}?enabled=false`, { body: { connectionId: 'octo' } })],
    ['input-invalid', () => api.ask(put, { body: { connectionId: 'octo', config: { unknown: 1 } } })],
    [
      'input-invalid',
      () => api.ask('PUT /agents/a%7Cb/signal-bindings/github/desk', { body: { connectionId: 'octo' } }),
    ],
    ['input-invalid', () => api.ask('PUT /agents/iris/signal-bindings/github/%20', { body: { connectionId: 'octo' } })],
    ['input-invalid', () => api.ask('GET /journeys')],
    ['input-invalid', () => api.ask('GET /signal-bindings?agent=iris&agent=zoe')],
    ['invalid_binding_filter', () => api.ask(put, { body: { connectionId: 'octo', filters: { cel: '1 +' } } })],
    ['unknown_group_message_mode', () => api.ask(put, { body: { connectionId: 'octo', groupMessageMode: 'x' } })],
    [
      'unsupported_group_message_mode',
      () =>
        api.ask('PUT /agents/iris/signal-bindings/chat/desk', {
          body: { connectionId: 'talk', groupMessageMode: 'addressed_only' },
        }),
    ],
    [
      'signal_adapter_not_found',
      () => api.ask('PUT /agents/iris/signal-bindings/fax/desk', { body: { connectionId: 'octo' } }),
    ],
    ['signal_adapter_not_found', () => api.ask('PATCH /agents/max/signal-bindings/fax', { body: { enabled: true } })],
    ['connection-not-found', () => api.ask(put, { body: { connectionId: 'nowhere' } })],
    ['connection-adapter-mismatch', () => api.ask(put, { body: { connectionId: 'talk' } })],
    ['binding-not-found', () => api.ask('GET /agents/iris/signal-bindings/none')],
    ['binding_target_conflict', () => api.ask(`PATCH ${desk}`, { body: { targetAgentUid: 'zoe' } })],
    ['channel-not-found', () => api.ask('GET /signal-channels/none')],
    ['entry-not-found', () => api.ask('GET /signal-channels/none/signal-entries/none')],
    ['journey-not-found', () => api.ask('GET /journeys?id=none')],
    ['overloaded', async () => faulty.ask(put, { token: await faulty.token(), body: { connectionId: 'octo' } })],
    ['infrastructure-unavailable', async () => faulty.ask('GET /journeys?id=x', { token: await faulty.token() })],
    ['api-fault', async () => faulty.ask('GET /signal-channels/x', { token: await faulty.token() })],
    [
      'rate-limited',
      async () => {
        const token = await faulty.token();
        await faulty.ask('GET /signal-bindings', { token });
        return faulty.ask('GET /signal-bindings', { token });
      },
    ],
  ];

  test.each(ways)('%s is told as a problem', async (code, meet) => {
    const { status, body, headers } = await meet();
    const { meaning, fix, retry } = errors[code];
    expect(body).toEqual({
      type: `urn:signalbox:error:${code}`,
      title: meaning,
      status,
      code,
      retry,
      fix,
      ...(body.details !== undefined && { details: expect.any(Object) }),
    });
    expect(status).toBe(errors[code].status);
    expect(headers['content-type']).toMatch(/^application\/problem\+json\b/);
    // Neither secrets nor addresses of ours nor what was typed.
    expect(JSON.stringify(body)).not.toMatch(/correct horse|kafka:9092|enabled=|xxx/);
    reached.add(code);
  });

  test('every code that an operation declares was met', () => {
    const declared = new Set<ErrorCode>([...commonCodes, ...bodyCodes, ...operations.flatMap(codesOf)]);
    expect([...declared].filter((code) => !reached.has(code))).toEqual([]);
    expect([...reached].filter((code) => !declared.has(code))).toEqual(['operation-not-found']);
  });

  test('a fault is logged by its place, never by its text', () => {
    const line = faulty.lines.find(({ code }) => code === 'api-fault');
    expect(line).toMatchObject({
      level: 'error',
      operation: 'get-signal-channel',
      causedBy: expect.stringContaining('TypeError'),
    });
    expect(JSON.stringify(faulty.lines)).not.toContain(webhookSecret);
  });

  test('each end is counted, in labels from closed sets', () => {
    expect(api.counted).toContainEqual({ operation: 'get-signal-channel', outcome: 'channel-not-found' });
    expect(api.counted).toContainEqual({ operation: 'none', outcome: 'operation-not-found' });
    const names = new Set(['none', ...operations.map(({ name }) => name)]);
    expect(api.counted.filter(({ operation }) => !names.has(operation))).toEqual([]);
  });
});

describe('reading', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await apiUnderTest();
  });
  afterAll(() => api.stop());

  test('a channel and an entry are read by ids of any letters', async () => {
    const signalChannelId = 'github:octo/repo#7';
    const sourceEntryId = 'issue_comment:1/2 %';
    const times = { firstSeenAt: 1, lastSeenAt: 2 };
    const channel = channels.value.parse({
      id: signalChannelId,
      kind: 'issue',
      replyMode: 'channel',
      name: null,
      visibility: null,
      metadata: {},
      ...times,
    });
    const entry = entries.value.parse({
      signalChannelId,
      sourceEntryId,
      providerThreadId: null,
      replyToSourceEntryId: null,
      title: null,
      text: 'a text',
      links: [],
      author: exampleFact.author,
      metadata: {},
      providerTime: null,
      documentId: 'd',
      contentHash: 'h',
      ...times,
    });
    await api.putRow(channels.at(signalChannelId), channel);
    await api.putRow(entries.at({ signalChannelId, sourceEntryId }), entry);
    const at = `/signal-channels/${encodeURIComponent(signalChannelId)}`;
    expect(await api.ask(`GET ${at}`)).toMatchObject({ status: 200, body: { signalChannel: channel } });
    const read = await api.ask(`GET ${at}/signal-entries/${encodeURIComponent(sourceEntryId)}`);
    expect(read).toMatchObject({ status: 200, body: { signalEntry: entry } });
  });

  describe('entries of a channel', () => {
    const signalChannelId = 'github:octo/pages#1';
    const at = `/signal-channels/${encodeURIComponent(signalChannelId)}/signal-entries`;
    const list = async (query: string) => {
      const { status, body } = await api.ask(`GET ${at}?${query}`);
      const found = body.signalEntries as readonly { readonly sourceEntryId: string }[];
      return { status, ids: found.map(({ sourceEntryId }) => sourceEntryId), next: body.next };
    };
    /** A fact that passed two bindings, and the mirror's row of its entry. */
    const write = async (sourceEntryId: string, providerThreadId: string | null): Promise<void> => {
      const accepted = acceptedFacts.value.parse({
        ...acceptedFacts.example,
        fact: { ...exampleFact, signalChannelId, sourceEntryId },
      });
      await api.publish(acceptedFacts, accepted);
      await api.publish(acceptedFacts, accepted);
      await api.publish(acceptedFacts, acceptedFacts.example);
      const said = { providerThreadId, replyToSourceEntryId: null, title: null, text: 'x', links: [], metadata: {} };
      const times = { providerTime: null, firstSeenAt: 1, lastSeenAt: 1 };
      const ids = { signalChannelId, sourceEntryId, documentId: 'd', contentHash: 'h', author: exampleFact.author };
      await api.putRow(
        entries.at({ signalChannelId, sourceEntryId }),
        entries.value.parse({ ...ids, ...said, ...times }),
      );
    };
    beforeAll(async () => {
      for (const id of ['a', 'b', 'c', 'd']) await write(id, id === 'b' || id === 'd' ? 't' : null);
      const gone = { ...exampleFact, signalChannelId, sourceEntryId: 'gone' };
      await api.publish(acceptedFacts, acceptedFacts.value.parse({ ...acceptedFacts.example, fact: gone }));
    });

    test('come newest first, each once, without those that are gone', async () => {
      expect(await list('')).toEqual({ status: 200, ids: ['d', 'c', 'b', 'a'], next: null });
    });

    test('come by pages', async () => {
      const first = await list('limit=3');
      expect(first).toEqual({ status: 200, ids: ['d', 'c', 'b'], next: expect.any(String) });
      expect(await list(`limit=3&cursor=${String(first.next)}`)).toEqual({ status: 200, ids: ['a'], next: null });
    });

    test('come by thread', async () => {
      expect(await list('providerThreadId=t')).toEqual({ status: 200, ids: ['d', 'b'], next: null });
      expect(await list('providerThreadId=other')).toEqual({ status: 200, ids: [], next: null });
    });

    test('a page that looked far enough says where to go on', async () => {
      const busy = await apiUnderTest({ settings: { lookRecords: 2 } });
      for (let count = 0; count < 5; count++) await busy.publish(acceptedFacts, acceptedFacts.example);
      const channel = encodeURIComponent(acceptedFacts.key(acceptedFacts.example));
      const page = async (query: string) =>
        (await busy.ask(`GET /signal-channels/${channel}/signal-entries?${query}`)).body;
      const [first, second] = [expect.stringMatching(/-3$/), expect.stringMatching(/-1$/)];
      expect(await page('')).toEqual({ signalEntries: [], next: first });
      expect(await page('cursor=9-3')).toEqual({ signalEntries: [], next: second });
      expect(await page('cursor=9-1')).toEqual({ signalEntries: [], next: null });
      expect(await page('cursor=9-99999')).toEqual({ signalEntries: [], next: first });
      await busy.stop();
    });
  });

  test('a journey is told from a position in the log', async () => {
    await api.publish(normalizedFacts, exampleFact);
    const found = await api.ask(
      `GET /journeys?signalChannelId=${encodeURIComponent(exampleFact.signalChannelId)}&sourceEntryId=${exampleFact.sourceEntryId}`,
    );
    expect(found).toMatchObject({
      status: 200,
      body: {
        omitted: 0,
        journeys: [{ dropped: 0, hops: [{ type: 'record', topic: 'normalized-facts', offset: '0', next: [] }] }],
      },
    });
  });
});

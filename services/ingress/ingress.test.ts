import type { KeyObject } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Connection } from '../../schemas/connection.ts';
import { sealConnection } from '../../shared/connection.ts';
import { KeyRing } from '../../shared/sealing.ts';
import { edgeUnderTest, keys, now, ring, signed } from './edge-under-test.ts';

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const answerOf = (response: { statusCode: number; body: string; headers: Record<string, unknown> }) => ({
  status: response.statusCode,
  body: response.body,
  type: response.headers['content-type'],
  cache: response.headers['cache-control'],
});
const constant = (status: number, error: string) => ({
  status,
  body: JSON.stringify({ error }),
  type: 'application/json; charset=utf-8',
  cache: 'no-store',
});
const unknownWebhook = constant(404, 'unknown webhook');
const ids = (edge: ReturnType<typeof edgeUnderTest>) => edge.published.map((fact) => fact.id);

describe('a genuine webhook', () => {
  test('becomes a raw fact as it came, and is answered with its id', async () => {
    const edge = edgeUnderTest();
    const response = await edge.app.inject(
      ring('{"text":"é"}', {
        headers: { 'Content-Type': 'application/json', authorization: 'Bearer t0ken', 'x-other': 'o' },
      }),
    );
    const [id] = ids(edge);
    expect(id).toMatch(uuid7);
    expect(edge.published).toEqual([
      {
        id,
        provider: 'bell',
        connectionId: 'octo',
        kind: 'events',
        eventId: 'e1',
        event: 'rung',
        receivedAt: now,
        headers: { 'content-type': 'application/json', 'x-bell-id': 'e1' },
        body: '{"text":"é"}',
        bodyEncoding: 'utf-8',
      },
    ]);
    expect(answerOf(response)).toEqual({ ...constant(200, ''), body: JSON.stringify({ id }) });
    expect([edge.outcomes, edge.decided]).toEqual([[{ provider: 'bell', outcome: 'published' }], []]);
  });

  test('is proved genuine before anything of it is read', async () => {
    const edge = edgeUnderTest();
    await edge.app.inject(ring('{}'));
    expect(edge.calls).toEqual(['verify', 'identify', 'handshake']);
  });

  test('keeps bytes that are no text as base64', async () => {
    const edge = edgeUnderTest();
    const bytes = Buffer.concat([Buffer.from('["'), Buffer.from([0xff, 0xfe]), Buffer.from('"]')]);
    await edge.app.inject(ring(bytes, { headers: { 'content-type': 'application/octet-stream' } }));
    expect(edge.published.map(({ body, bodyEncoding }) => ({ body, bodyEncoding }))).toEqual([
      { body: bytes.toString('base64'), bodyEncoding: 'base64' },
    ]);
  });

  test('keeps white space and line ends', async () => {
    const edge = edgeUnderTest();
    await edge.app.inject(ring(' {}\r\n', { headers: { 'content-type': 'text/plain' } }));
    expect(edge.published.map(({ body }) => body)).toEqual([' {}\r\n']);
  });

  test.each([
    ['of any type', { 'content-type': 'text/csv' }],
    ['of a malformed type', { 'content-type': 'no type at all' }],
    ['without a type', {}],
    ['of a type whose parser Fastify has', { 'content-type': 'application/json' }],
  ])('is taken with a body %s', async (_, headers) => {
    const edge = edgeUnderTest();
    const response = await edge.app.inject(ring('{"a": 1}', { headers }));
    expect([response.statusCode, edge.published.map((fact) => fact.body)]).toEqual([200, ['{"a": 1}']]);
  });

  test('may have no body', async () => {
    const edge = edgeUnderTest();
    const response = await edge.app.inject(ring(''));
    expect([response.statusCode, edge.published.map((fact) => fact.body)]).toEqual([200, ['']]);
  });

  test('takes its channel from the first of repeated parameters', async () => {
    const edge = edgeUnderTest();
    await edge.app.inject(ring('{}', { url: '/webhooks/v1/bell/octo/events?room=hall&room=yard' }));
    expect(edge.published.map((fact) => fact.signalChannelId)).toEqual(['bell:hall']);
  });

  test('is accepted under each secret of its connection', async () => {
    const plain = edgeUnderTest();
    const config = { webhookSecret: ['new', 'swordfish'] };
    const stored = [sealConnection({ id: 'octo', config }, { provider: plain.bell, keys, now })];
    const edge = edgeUnderTest({ stored });
    const responses = [
      await edge.app.inject(ring('{}')),
      await edge.app.inject(ring('{}', { headers: { 'x-bell-signature': signed('{}', 'new') } })),
      await edge.app.inject(ring('{}', { headers: { 'x-bell-signature': signed('{}', 'older') } })),
    ];
    expect(responses.map((response) => response.statusCode)).toEqual([200, 200, 401]);
  });

  test('is judged by the newest version of its connection', async () => {
    const edge = edgeUnderTest();
    const before = await edge.app.inject(ring('{}'));
    const typed = { id: 'octo', config: { webhookSecret: 'new' } };
    edge.table.set('octo', sealConnection(typed, { provider: edge.bell, keys, now }));
    const after = await edge.app.inject(ring('{}'));
    expect([before.statusCode, after.statusCode]).toEqual([200, 401]);
  });
});

test('the secrets of a connection are opened once for each version of it', async () => {
  const asked: string[] = [];
  const counted = new (class extends Map<string, KeyObject> {
    override get(id: string) {
      asked.push(id);
      return super.get(id);
    }
  })(keys.keys);
  const edge = edgeUnderTest({ keys: { ...keys, keys: counted } });
  await edge.app.inject(ring('{}'));
  await edge.app.inject(ring('{}'));
  edge.table.set('octo', { ...edge.octo });
  await edge.app.inject(ring('{}'));
  expect(asked).toEqual(['k1', 'k1']);
});

describe('a URL that names nobody is a constant 404, and its body is not looked at', () => {
  test.each([
    ['an unknown handler', 'POST', '/webhooks/v1/gong/octo/events'],
    ['an unknown instance', 'POST', '/webhooks/v1/bell/other/events'],
    ['an undeclared kind', 'POST', '/webhooks/v1/bell/octo/others'],
    ['a callback', 'POST', '/webhooks/v1/event-callbacks/token'],
    ['a name that every object has', 'POST', '/webhooks/v1/constructor/__proto__/events'],
    ['a very long name', 'POST', `/webhooks/v1/bell/${'o'.repeat(500)}/events`],
    ['a broken escape', 'POST', '/webhooks/v1/bell/%zz/events'],
    ['another method', 'GET', '/webhooks/v1/bell/octo/events'],
    ['a preflight', 'OPTIONS', '/webhooks/v1/bell/octo/events'],
    ['another path', 'POST', '/'],
    ['a path below', 'POST', '/webhooks/v1/bell/octo/events/'],
  ] as const)('%s', async (_, method, url) => {
    const edge = edgeUnderTest();
    const payload = method === 'GET' ? {} : { payload: '{"said":"secret thing"}' };
    const response = await edge.app.inject({ ...ring('{}'), method, url, ...payload });
    expect(answerOf(response)).toEqual(unknownWebhook);
    expect(edge.outcomes).toEqual([{ provider: 'unknown', outcome: 'unknown_webhook' }]);
    expect([edge.calls, edge.published]).toEqual([[], []]);
  });

  test('the handler name that is reserved for callbacks, even if a provider takes it', async () => {
    const { bell, octo } = edgeUnderTest();
    const name = 'event-callbacks';
    const providers = new Map([[name, { ...bell, name }]]);
    const edge = edgeUnderTest({ providers, stored: [{ ...octo, provider: name }] });
    const response = await edge.app.inject(ring('{}', { url: `/webhooks/v1/${name}/octo/events` }));
    expect(answerOf(response)).toEqual(unknownWebhook);
  });

  test('a connection of another provider', async () => {
    const { octo } = edgeUnderTest();
    const edge = edgeUnderTest({ stored: [{ ...octo, provider: 'gong' }] });
    expect(answerOf(await edge.app.inject(ring('{}')))).toEqual(unknownWebhook);
  });
});

describe('a webhook that is not proved is a constant 401, and nothing of it is read', () => {
  const flipped = (text: string) => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`;
  test.each([
    ['one changed byte of the body', { ...ring('{"a":1}'), payload: '{"a":2}' }],
    ['one changed byte of the signature', ring('{}', { headers: { 'x-bell-signature': flipped(signed('{}')) } })],
    ['an empty signature', ring('{}', { headers: { 'x-bell-signature': '' } })],
    ['a body that is no JSON', ring('not json', { headers: { 'x-bell-signature': 'forged' } })],
    ['a forged handshake', ring('{}', { headers: { 'x-bell-signature': 'forged', 'x-bell-hello': '1' } })],
  ])('%s', async (_, request) => {
    const edge = edgeUnderTest();
    const response = await edge.app.inject(request);
    expect(answerOf(response)).toEqual(constant(401, 'signature invalid'));
    expect([edge.calls, edge.published, edge.decided]).toEqual([['verify'], [], []]);
    expect(edge.outcomes).toEqual([{ provider: 'bell', outcome: 'signature_invalid' }]);
  });

  test('a connection without a secret', async () => {
    const { octo } = edgeUnderTest();
    const edge = edgeUnderTest({ stored: [{ ...octo, secrets: {} } satisfies Connection] });
    expect(answerOf(await edge.app.inject(ring('{}')))).toEqual(constant(401, 'signature invalid'));
    expect(edge.outcomes).toEqual([{ provider: 'bell', outcome: 'secret_missing' }]);
    expect(edge.calls).toEqual([]);
  });
});

describe('a genuine request that no real sender makes is a constant 400', () => {
  test.each([
    ['without the id of its event', ''],
    ['with an id that is too long', 'e'.repeat(201)],
  ])('%s', async (_, eventId) => {
    const edge = edgeUnderTest();
    const request = ring('{}', { headers: { 'x-bell-id': eventId } });
    expect(answerOf(await edge.app.inject(request))).toEqual(constant(400, 'webhook invalid'));
    expect(edge.outcomes).toEqual([{ provider: 'bell', outcome: 'unidentified' }]);
    expect(edge.published).toEqual([]);
  });
});

describe('a handshake', () => {
  const hello = (query: string) =>
    ring('{}', { url: `/webhooks/v1/bell/octo/events${query}`, headers: { 'x-bell-hello': '1' } });
  test.each([
    ['nothing', '', { status: 204, body: '', type: undefined, cache: 'no-store' }],
    ['a text', '?challenge=c1', { status: 200, body: 'c1', type: 'text/plain; charset=utf-8', cache: 'no-store' }],
    ['an object', '?challenge=c1&as=json', { ...constant(200, ''), body: '{"challenge":"c1"}' }],
  ])('is answered with %s, recorded as an outcome and not published', async (_, query, answer) => {
    const edge = edgeUnderTest();
    const response = await edge.app.inject(hello(query));
    expect(answerOf(response)).toEqual(answer);
    const rootId = edge.decided[0]?.rootId;
    expect(rootId).toMatch(uuid7);
    expect(edge.decided).toEqual([
      {
        rootId,
        stage: 'ingress',
        status: 'answered_handshake',
        at: now,
        about: { connectionId: 'octo', providerEventId: 'e1' },
      },
    ]);
    expect([edge.published, edge.outcomes]).toEqual([[], [{ provider: 'bell', outcome: 'answered_handshake' }]]);
  });
});

describe('limits', () => {
  test('a body of the limit passes, and one byte more is an empty 413 that nobody verified', async () => {
    const settings = { maxBodyBytes: 10 };
    const edge = edgeUnderTest({ settings });
    const [fits, larger] = [
      await edge.app.inject(ring(`"${'x'.repeat(8)}"`)),
      await edge.app.inject(ring(`"${'x'.repeat(9)}"`)),
    ];
    expect([fits.statusCode, answerOf(larger)]).toEqual([
      200,
      { status: 413, body: '', type: undefined, cache: 'no-store' },
    ]);
    expect(edge.calls.filter((call) => call === 'verify')).toEqual(['verify']);
  });

  test('more headers than the limit are an empty 431', async () => {
    const edge = edgeUnderTest({ settings: { maxHeaders: 10 } });
    const headers = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`x-${index}`, 'v']));
    const response = await edge.app.inject(ring('{}', { headers }));
    expect([answerOf(response), edge.calls]).toEqual([
      { status: 431, body: '', type: undefined, cache: 'no-store' },
      [],
    ]);
  });
});

describe('a fault is a constant 500, and only the log knows more', () => {
  test('of the provider', async () => {
    const edge = edgeUnderTest();
    const response = await edge.app.inject(ring('{"password":"hunter2"'));
    expect(answerOf(response)).toEqual(constant(500, 'webhook dispatch failed'));
    expect(edge.lines.map(({ level, code, message }) => ({ level, code, message }))).toEqual([
      { level: 'error', code: 'stage-fault', message: 'webhook dispatch failed' },
    ]);
    expect(edge.lines[0]?.causedBy).toMatch(/^SyntaxError at JSON\.parse .*edge-under-test\.ts/);
  });

  test('of the keys', async () => {
    const other = KeyRing.parse(`k9:${Buffer.alloc(32, 9).toString('base64')}`);
    const edge = edgeUnderTest({ keys: other });
    expect(answerOf(await edge.app.inject(ring('{}')))).toEqual(constant(500, 'webhook dispatch failed'));
    expect(edge.lines.map(({ code }) => code)).toEqual(['key-missing']);
  });

  test('of the table', async () => {
    const edge = edgeUnderTest({
      connections: {
        get: () => {
          throw new Error('octo');
        },
      },
    });
    expect(answerOf(await edge.app.inject(ring('{}')))).toEqual(constant(500, 'webhook dispatch failed'));
  });
});

describe('the log', () => {
  test('has one line for each request, of known fields alone', async () => {
    const edge = edgeUnderTest();
    await edge.app.inject(ring('{}'));
    await edge.app.inject({ ...ring('{}'), payload: '{ }' });
    await edge.app.inject({ ...ring('{}'), url: '/webhooks/v1/bell/other/events' });
    const about = { provider: 'bell', connectionId: 'octo', id: expect.stringMatching(uuid7), ms: expect.any(Number) };
    expect(edge.lines).toEqual([
      { level: 'debug', ...about, partition: 3, message: 'webhook published' },
      {
        level: 'warn',
        ...about,
        code: 'signature-invalid',
        causedBy: 'x-bell-signature does not match',
        message: 'webhook refused',
      },
      { level: 'debug', ms: expect.any(Number), message: 'webhook unknown' },
    ]);
  });

  test('says how long a request took', async () => {
    const slow = async () => {
      await setTimeout(30);
      return { partition: 3 };
    };
    const edge = edgeUnderTest({ publish: slow });
    await edge.app.inject(ring('{}'));
    const [line] = edge.lines;
    expect(line?.ms).toBeGreaterThanOrEqual(25);
    expect(line?.ms).toBeLessThan(5_000);
  });

  test('never has a secret, a signature, a header or anything of a body', async () => {
    const edge = edgeUnderTest({ settings: { maxBodyBytes: 100 } });
    const headers = { authorization: 'Bearer t0ken' };
    const requests = [
      ring('["hunter2"]', { headers }),
      ring('hunter2', { headers }),
      ring('{"hunter2":', { headers }),
      ring('"hunter2"', { headers: { ...headers, 'x-bell-signature': 'f0rged' } }),
      ring(`"hunter2${'x'.repeat(100)}"`, { headers }),
      ring('"hunter2"', { headers, url: '/webhooks/v1/bell/octo/events?room=hunter2' }),
      ring('"hunter2"', { headers, url: '/webhooks/v1/hunter2/hunter2/hunter2' }),
    ];
    for (const request of requests) await edge.app.inject(request);
    const written = JSON.stringify(edge.lines);
    expect(edge.lines).toHaveLength(requests.length);
    const forbidden = ['hunter2', 'swordfish', 't0ken', 'f0rged', ...requests.map(({ payload }) => signed(payload))];
    expect(forbidden.filter((text) => written.includes(text))).toEqual([]);
  });
});

import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { edgeUnderTest, signed } from './edge-under-test.ts';

const running: FastifyInstance[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const app of running.splice(0)) await app.close();
});

const until = (met: () => boolean) => vi.waitUntil(met, { interval: 1, timeout: 4_000 });

async function listening(given: Parameters<typeof edgeUnderTest>[0] = {}) {
  const edge = edgeUnderTest(given);
  running.push(edge.app);
  await edge.app.listen({ host: '127.0.0.1', port: 0 });
  return { ...edge, port: (edge.app.server.address() as AddressInfo).port };
}

/** A client that sends what it is told and keeps what it gets. */
async function client(port: number) {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  // A reset is one of the ways in which the edge may end a connection.
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  return { socket, closed, received: () => received, status: () => received.split('\r\n')[0] };
}

const head = (headers: readonly string[], path = '/webhooks/v1/bell/octo/events') =>
  `POST ${path} HTTP/1.1\r\nhost: edge\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
const signature = `x-bell-signature: ${signed('{}')}`;

test('a webhook goes through a real socket, without a header that tells what answers', async () => {
  const edge = await listening();
  const { socket, received } = await client(edge.port);
  socket.write(`${head([signature, 'x-bell-id: e1', 'content-length: 2'])}{}`);
  await until(() => received().includes('}'));
  const names = received()
    .split('\r\n\r\n')[0]
    ?.split('\r\n')
    .slice(1)
    .map((line) => line.split(':')[0]);
  expect(names?.sort()).toEqual([
    'Connection',
    'Date',
    'Keep-Alive',
    'cache-control',
    'content-length',
    'content-type',
    'x-content-type-options',
  ]);
  expect(edge.published.map(({ eventId, body }) => ({ eventId, body }))).toEqual([{ eventId: 'e1', body: '{}' }]);
});

test('of a repeated header the first value counts', async () => {
  const edge = await listening();
  const { socket, received } = await client(edge.port);
  socket.write(
    `${head([signature, 'x-bell-signature: forged', 'X-Bell-Id: e1', 'x-bell-id: e2', 'content-length: 2'])}{}`,
  );
  await until(() => received().includes('}'));
  expect(edge.published.map(({ eventId, headers }) => ({ eventId, headers }))).toEqual([
    { eventId: 'e1', headers: { 'x-bell-id': 'e1' } },
  ]);
});

describe('a body that is too large', () => {
  test('is cut while it streams, whatever its length was said to be', async () => {
    const edge = await listening({ settings: { maxBodyBytes: 1_000 } });
    const { socket, closed, received, status } = await client(edge.port);
    socket.write(head([signature, 'x-bell-id: e1', 'transfer-encoding: chunked']));
    const chunk = `190\r\n${'x'.repeat(400)}\r\n`;
    let sent = 0;
    while (!received().includes('\r\n\r\n') && sent < 100_000) {
      if (!socket.destroyed) socket.write(chunk);
      sent += 1;
      await setImmediate();
    }
    await closed;
    expect([status(), received().toLowerCase().includes('connection: close')]).toEqual([
      'HTTP/1.1 413 Payload Too Large',
      true,
    ]);
    expect([edge.calls, edge.outcomes]).toEqual([[], [{ provider: 'unknown', outcome: 'body_too_large' }]]);
  });

  test('is refused by the length it claims, before any of it comes', async () => {
    const edge = await listening({ settings: { maxBodyBytes: 1_000 } });
    const { socket, closed, status } = await client(edge.port);
    socket.write(head([signature, 'content-length: 1001']));
    await closed;
    expect([status(), edge.calls]).toEqual(['HTTP/1.1 413 Payload Too Large', []]);
  });
});

describe('a sender that is slow or gone', () => {
  test('is cut off when the request has not come in time', async () => {
    const edge = await listening({ settings: { requestTimeoutMs: 150 } });
    const { socket, closed, status } = await client(edge.port);
    socket.write(`${head([signature, 'content-length: 100'])}{`);
    await closed;
    expect([status(), edge.calls]).toEqual(['HTTP/1.1 408 Request Timeout', []]);
  });

  test('leaves nothing behind that counts as a body being read', async () => {
    const edge = await listening({ settings: { maxBodies: 1 } });
    const gone = await client(edge.port);
    gone.socket.write(`${head([signature, 'content-length: 100'])}{`);
    // The second request is a 503 for as long as the first one holds the only place.
    const probe = async () => {
      const { socket, received, status } = await client(edge.port);
      socket.write(`${head([signature, 'x-bell-id: e1', 'content-length: 2'])}{}`);
      await until(() => received().includes('}'));
      return status();
    };
    expect(await probe()).toBe('HTTP/1.1 503 Service Unavailable');
    gone.socket.destroy();
    await until(() => edge.outcomes.some(({ outcome }) => outcome === 'body_cut'));
    expect(await probe()).toBe('HTTP/1.1 200 OK');
  });
});

describe('what is no request', () => {
  test.each([
    ['nonsense', 'hunter2\r\n\r\n', 'HTTP/1.1 400 Bad Request', 'malformed'],
    [
      'headers over the limit',
      head([`x-long: hunter2${'x'.repeat(5_000)}`]),
      'HTTP/1.1 431 Request Header Fields Too Large',
      'headers_too_large',
    ],
  ])('%s ends the connection, and the log has none of its bytes', async (_, text, line, outcome) => {
    const edge = await listening({ settings: { maxHeaderBytes: 2_048 } });
    const { socket, closed, received, status } = await client(edge.port);
    socket.write(text);
    await closed;
    expect([status(), received().split('\r\n\r\n')[1]]).toEqual([line, '']);
    expect(edge.outcomes).toEqual([{ provider: 'unknown', outcome }]);
    expect(JSON.stringify(edge.lines)).not.toContain('hunter2');
  });
});

test('connections over the limit are closed', async () => {
  const edge = await listening({ settings: { maxConnections: 1 } });
  await client(edge.port);
  const { closed, received } = await client(edge.port);
  await closed;
  expect(received()).toBe('');
});

describe('a stop', () => {
  const slow = async (settings = {}) => {
    const acknowledged = Promise.withResolvers<{ readonly partition: number }>();
    let asked = 0;
    const edge = await listening({
      publish: () => {
        asked += 1;
        return acknowledged.promise;
      },
      settings,
    });
    const { socket, closed, received, status } = await client(edge.port);
    socket.write(`${head([signature, 'x-bell-id: e1', 'content-length: 2'])}{}`);
    await until(() => asked === 1);
    return { edge, acknowledged, socket, closed, received, status };
  };

  test('lets running requests finish and takes no new ones', async () => {
    const { edge, acknowledged, closed, received, status } = await slow();
    const stopped = edge.app.close();
    await until(() => !edge.app.server.listening);
    const late = await client(edge.port).catch((error: NodeJS.ErrnoException) => error.code);
    acknowledged.resolve({ partition: 0 });
    await Promise.all([closed, stopped]);
    expect([late, status(), received().includes('connection: close')]).toEqual([
      'ECONNREFUSED',
      'HTTP/1.1 200 OK',
      true,
    ]);
  });

  test('puts off what comes on an open connection meanwhile', async () => {
    const { edge, acknowledged, socket, closed, received } = await slow();
    const stopped = edge.app.close();
    await until(() => !edge.app.server.listening);
    socket.write(`${head([signature, 'x-bell-id: e2', 'content-length: 2'])}{}`);
    await until(() => edge.outcomes.length === 1);
    acknowledged.resolve({ partition: 0 });
    await Promise.all([closed, stopped]);
    expect(edge.outcomes.map(({ outcome }) => outcome)).toEqual(['closing', 'published']);
    expect(received().match(/HTTP\/1\.1 \d+/g)?.[0]).toBe('HTTP/1.1 200');
  });

  test('ends after its deadline, whatever still runs', async () => {
    const { edge, closed, received } = await slow({ closeTimeoutMs: 100 });
    await Promise.all([edge.app.close(), closed]);
    expect(received()).toBe('');
  });
});

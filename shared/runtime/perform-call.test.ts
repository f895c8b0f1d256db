import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import type { CallRequest } from '../stage/effects.ts';
import { performCall } from './perform-call.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A server on loopback, and what it was asked. */
async function answering(listener: RequestListener) {
  const asked: {
    method: string | undefined;
    url: string | undefined;
    headers: IncomingMessage['headers'];
    body: string;
  }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    asked.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    listener(request, response);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');
  return { asked, url: `http://127.0.0.1:${address.port}` };
}

const get = (url: string, more: Partial<CallRequest> = {}): CallRequest => ({
  method: 'GET',
  url,
  headers: {},
  timeoutMs: 5_000,
  ...more,
});

describe('a provider call', () => {
  test('sends method, headers and body, and brings back status, headers and text', async () => {
    const { url, asked } = await answering((_, response) =>
      response.writeHead(201, { 'x-request-id': 'r1', 'content-type': 'text/plain' }).end('zażółć'),
    );
    const headers = { authorization: 'Bearer x', 'content-type': 'application/json' };
    const answer = await performCall(get(`${url}/a?b=c`, { method: 'POST', headers, body: '{"a":"ą"}' }));
    expect(answer).toMatchObject({
      status: 201,
      headers: { 'x-request-id': 'r1', 'content-type': 'text/plain' },
      body: 'zażółć',
    });
    expect(answer.failure).toBeUndefined();
    expect(asked).toMatchObject([{ method: 'POST', url: '/a?b=c', body: '{"a":"ą"}', headers }]);
  });

  test('brings back a refusal as an answer', async () => {
    const { url } = await answering((_, response) => response.writeHead(429, { 'retry-after': '7' }).end());
    expect(await performCall(get(url))).toMatchObject({ status: 429, headers: { 'retry-after': '7' }, body: '' });
  });

  test('does not follow a redirect, with which its credentials would go', async () => {
    const other = await answering((_, response) => response.end());
    const { url } = await answering((_, response) => response.writeHead(302, { location: other.url }).end());
    expect(await performCall(get(url, { headers: { authorization: 'Bearer x' } }))).toMatchObject({
      status: 302,
      headers: { location: other.url },
    });
    expect(other.asked).toEqual([]);
  });

  test('keeps the beginning of an answer that is too long', async () => {
    const { url } = await answering((_, response) => response.end('x'.repeat(400_000)));
    expect((await performCall(get(url))).body).toHaveLength(262_144);
  });
});

describe('a call without an answer', () => {
  const none = (failure: string) => ({ headers: {}, body: '', failure });

  test('is told apart by what became of it, and never rejects', async () => {
    const silent = await answering(() => undefined);
    const cut = await answering((request) => request.socket.destroy());
    const half = await answering((request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    });
    expect([
      await performCall(get(silent.url, { timeoutMs: 50 })),
      await performCall(get(cut.url)),
      await performCall(get(half.url)),
      await performCall(get('http://127.0.0.1:1/')),
      await performCall(get('no address')),
    ]).toEqual([none('TimeoutError'), none('TypeError'), none('TypeError'), none('TypeError'), none('TypeError')]);
  });
});

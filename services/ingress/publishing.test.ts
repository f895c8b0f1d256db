import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { BusError } from '../../shared/errors.ts';
import { edgeUnderTest, ring } from './edge-under-test.ts';

const body = '{"text":"hello"}';
const bytes = Buffer.byteLength(body);
const hello = { headers: { 'x-bell-hello': '1' } };

const answerOf = (response: { statusCode: number; body: string; headers: Record<string, unknown> }) => ({
  status: response.statusCode,
  body: response.body,
  retryAfter: response.headers['retry-after'],
});
const later = { status: 503, body: '{"error":"try again later"}', retryAfter: '10' };
const never = () => new Promise<never>(() => undefined);
const until = (met: () => boolean) => vi.waitUntil(met, { interval: 1, timeout: 4_000 });

test('no webhook is answered before the broker has its fact', async () => {
  const acknowledged = Promise.withResolvers<{ readonly partition: number }>();
  let asked = 0;
  const edge = edgeUnderTest({
    publish: () => {
      asked += 1;
      return acknowledged.promise;
    },
  });
  let answered = false;
  const response = edge.app.inject(ring(body)).then((answer) => {
    answered = true;
    return answer;
  });
  await until(() => asked === 1);
  await setImmediate();
  expect([answered, edge.outcomes]).toEqual([false, []]);
  acknowledged.resolve({ partition: 7 });
  expect([(await response).statusCode, edge.lines.map((line) => line.partition)]).toEqual([200, [7]]);
});

describe('what cannot be published now is a 503 with Retry-After', () => {
  test('when the broker does not answer in time', async () => {
    const edge = edgeUnderTest({ publish: never, settings: { publishTimeoutMs: 20 } });
    expect(answerOf(await edge.app.inject(ring(body)))).toEqual(later);
    expect(edge.outcomes).toEqual([{ provider: 'bell', outcome: 'unpublished' }]);
  });

  test('when the broker is away', async () => {
    const away = new BusError('infrastructure-unavailable', { topic: 'raw-provider-facts' });
    const edge = edgeUnderTest({ publish: () => Promise.reject(away) });
    expect(answerOf(await edge.app.inject(ring(body)))).toEqual(later);
    expect(edge.lines.map(({ level, code }) => ({ level, code }))).toEqual([
      { level: 'warn', code: 'infrastructure-unavailable' },
    ]);
  });

  test('when it is a handshake whose record cannot be written', async () => {
    const edge = edgeUnderTest({ decide: never, settings: { publishTimeoutMs: 20 } });
    expect(answerOf(await edge.app.inject(ring(body, hello)))).toEqual(later);
  });

  test('says the seconds that are set', async () => {
    const edge = edgeUnderTest({ publish: never, settings: { publishTimeoutMs: 20, retryAfterSeconds: 42 } });
    expect(answerOf(await edge.app.inject(ring(body)))).toEqual({ ...later, retryAfter: '42' });
  });
});

test('a fact that lands after its 503 is no second outcome', async () => {
  const acknowledged = Promise.withResolvers<{ readonly partition: number }>();
  const edge = edgeUnderTest({ publish: () => acknowledged.promise, settings: { publishTimeoutMs: 20 } });
  await edge.app.inject(ring(body));
  acknowledged.resolve({ partition: 0 });
  await setImmediate();
  expect([edge.outcomes, edge.lines.length]).toEqual([[{ provider: 'bell', outcome: 'unpublished' }], 1]);
});

test('a fact that fails after its 503 is told to the log', async () => {
  const acknowledged = Promise.withResolvers<{ readonly partition: number }>();
  const edge = edgeUnderTest({ publish: () => acknowledged.promise, settings: { publishTimeoutMs: 20 } });
  await edge.app.inject(ring(body));
  acknowledged.reject(new BusError('infrastructure-unavailable'));
  await until(() => edge.lines.length === 2);
  expect(edge.lines.map(({ code, message }) => ({ code, message }))).toEqual([
    { code: 'infrastructure-unavailable', message: 'webhook put off: not published' },
    { code: 'infrastructure-unavailable', message: 'publish failed after its answer' },
  ]);
});

describe('what trying again does not mend', () => {
  test('is a 413 when no broker takes a fact of this size', async () => {
    const edge = edgeUnderTest({ publish: () => Promise.reject(new BusError('record-too-large')) });
    expect(answerOf(await edge.app.inject(ring(body)))).toEqual({ status: 413, body: '', retryAfter: undefined });
  });

  test.each([
    ['a topic is missing', new BusError('topic-missing', { topic: 'raw-provider-facts' }), 'topic-missing'],
    ['of a fault', new TypeError(body), 'stage-fault'],
  ])('is a 500 and an error for the operator when %s', async (_, error, code) => {
    const edge = edgeUnderTest({ publish: () => Promise.reject(error) });
    expect(answerOf(await edge.app.inject(ring(body)))).toEqual({
      status: 500,
      body: '{"error":"webhook dispatch failed"}',
      retryAfter: undefined,
    });
    expect(edge.lines.map((line) => ({ level: line.level, code: line.code }))).toEqual([{ level: 'error', code }]);
  });
});

describe('what waits for the broker is bounded', () => {
  const waiting = (settings: NonNullable<Parameters<typeof edgeUnderTest>[0]>['settings']) => {
    const acknowledged = Promise.withResolvers<{ readonly partition: number }>();
    let asked = 0;
    const edge = edgeUnderTest({
      publish: () => {
        asked += 1;
        return acknowledged.promise;
      },
      settings: { ...settings },
    });
    return { edge, acknowledged, asked: () => asked };
  };

  test.each([
    ['in number', { maxPending: 2 }],
    ['in bytes', { maxPendingBytes: 2 * bytes }],
  ])(
    '%s: one more is a 503 that is never queued, and there is room again after the broker answered',
    async (_, bound) => {
      const { edge, acknowledged, asked } = waiting(bound);
      const first = [edge.app.inject(ring(body)), edge.app.inject(ring(body))];
      await until(() => asked() === 2);
      expect([answerOf(await edge.app.inject(ring(body))), asked()]).toEqual([later, 2]);
      acknowledged.resolve({ partition: 0 });
      const statuses = (await Promise.all(first)).map((response) => response.statusCode);
      expect([...statuses, (await edge.app.inject(ring(body))).statusCode]).toEqual([200, 200, 200]);
    },
  );

  test('also by what was answered with a 503 and still waits', async () => {
    const { edge, acknowledged, asked } = waiting({ maxPending: 1, publishTimeoutMs: 20 });
    const answers = [await edge.app.inject(ring(body)), await edge.app.inject(ring(body))].map(answerOf);
    expect([answers, asked()]).toEqual([[later, later], 1]);
    expect(edge.outcomes.map(({ outcome }) => outcome)).toEqual(['unpublished', 'overloaded']);
    acknowledged.resolve({ partition: 0 });
    await setImmediate();
    expect((await edge.app.inject(ring(body))).statusCode).toBe(200);
  });

  test('bodies that are handled at once are bounded before they are read', async () => {
    const { edge, acknowledged, asked } = waiting({ maxBodies: 1 });
    const first = edge.app.inject(ring(body));
    await until(() => asked() === 1);
    const calls = edge.calls.length;
    expect(answerOf(await edge.app.inject(ring(body)))).toEqual(later);
    expect([edge.calls.length, asked()]).toEqual([calls, 1]);
    acknowledged.resolve({ partition: 0 });
    await first;
    for (const _ of [1, 2, 3]) expect((await edge.app.inject(ring(body))).statusCode).toBe(200);
  });
});

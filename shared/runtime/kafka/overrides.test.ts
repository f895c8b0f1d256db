import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { overrideRequestQueue, type RequestQueueClass } from './overrides.ts';

const load = createRequire(import.meta.url);

interface Queue {
  throttledUntil: number;
  checkPendingRequests: () => void;
  readonly pending: unknown[];
}
type QueueClass = RequestQueueClass & (new (options: object) => Queue);

/** A copy of the client's class that nothing has changed yet. */
const freshClass = (): QueueClass => {
  const path = load.resolve('kafkajs/src/network/requestQueue');
  delete load.cache[path];
  return load(path);
};
const quiet = { debug: () => undefined, warn: () => undefined };
const queueOf = (RequestQueue: QueueClass): Queue =>
  new RequestQueue({ maxInFlightRequests: null, requestTimeout: 1_000, logger: quiet });

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

test('the original is the one that the override was written for', () => {
  const text = String(freshClass().prototype.scheduleCheckPendingRequests);
  expect(createHash('sha256').update(text).digest('hex')).toBe(
    '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a',
  );
});

test('the original starts a timer although nothing waits, the override does not', () => {
  const original = queueOf(freshClass());
  original.checkPendingRequests();
  expect(vi.getTimerCount()).toBe(1);
  vi.clearAllTimers();

  const RequestQueue = freshClass();
  overrideRequestQueue(RequestQueue);
  queueOf(RequestQueue).checkPendingRequests();
  expect(vi.getTimerCount()).toBe(0);
});

test('a request that was held back is sent when the broker takes requests again', () => {
  const RequestQueue = freshClass();
  overrideRequestQueue(RequestQueue);
  const queue = queueOf(RequestQueue);
  const send = vi.fn();
  queue.throttledUntil = 1_050;
  queue.pending.push({ send, expectResponse: true });
  queue.checkPendingRequests();
  vi.advanceTimersByTime(49);
  expect(send).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(send).toHaveBeenCalledOnce();
  expect([queue.pending.length, vi.getTimerCount()]).toEqual([0, 0]);
});

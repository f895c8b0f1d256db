import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ConnectionClass, overrideConnection, overrideRequestQueue, type RequestQueueClass } from './overrides.ts';

const load = createRequire(import.meta.url);

interface Queue {
  throttledUntil: number;
  checkPendingRequests: () => void;
  readonly pending: unknown[];
}
type QueueClass = RequestQueueClass & (new (options: object) => Queue);

/** A copy of one of the client's classes that nothing has changed yet. */
const fresh = <Class>(module: string): Class => {
  const path = load.resolve(`kafkajs/src/network/${module}`);
  delete load.cache[path];
  return load(path);
};
const freshClass = (): QueueClass => fresh('requestQueue');
const digestOf = (method: unknown): string => createHash('sha256').update(String(method)).digest('hex');
const quiet = { debug: () => undefined, warn: () => undefined };
const queueOf = (RequestQueue: QueueClass): Queue =>
  new RequestQueue({ maxInFlightRequests: null, requestTimeout: 1_000, logger: quiet });

describe('the request queue', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('the original is the one that the override was written for', () => {
    expect(digestOf(freshClass().prototype.scheduleCheckPendingRequests)).toBe(
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
});

describe('a connection', () => {
  type Connection = { connect: () => Promise<unknown>; disconnect: () => Promise<unknown> };
  type Class = ConnectionClass & (new (options: object) => Connection);

  /** The sockets that a client opens when three ask for a connection at once. */
  const socketsOf = async (Connection: Class): Promise<number> => {
    const accepted: Socket[] = [];
    const server = createServer((socket) => accepted.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new TypeError('no port');
    const opened: Socket[] = [];
    const connection = new Connection({
      host: '127.0.0.1',
      port: address.port,
      connectionTimeout: 5_000,
      logger: { namespace: () => ({ debug: () => undefined, error: () => undefined }) },
      socketFactory({ host, port, onConnect }: { host: string; port: number; onConnect: () => void }) {
        const socket = connect({ host, port }, onConnect);
        opened.push(socket);
        return socket;
      },
    });
    await Promise.all([connection.connect(), connection.connect(), connection.connect()]);
    await connection.disconnect();
    for (const socket of [...opened, ...accepted]) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    return opened.length;
  };

  test('the original is the one that the override was written for', () => {
    expect(digestOf(fresh<Class>('connection').prototype.connect)).toBe(
      'f62881754acb28b9649343a621f36c450fed94751126a6570498975fb1c48a58',
    );
  });

  test('the original opens a socket for each that asks, the override one for all', async () => {
    expect(await socketsOf(fresh('connection'))).toBe(3);
    const Connection = fresh<Class>('connection');
    overrideConnection(Connection);
    expect(await socketsOf(Connection)).toBe(1);
  });

  test('a connection that failed is tried anew', async () => {
    const failure = new Error('refused');
    let tries = 0;
    class Failing {
      connect(): Promise<unknown> {
        tries++;
        return tries === 1 ? Promise.reject(failure) : Promise.resolve(true);
      }
    }
    overrideConnection(Failing);
    const connection = new Failing();
    await expect(connection.connect()).rejects.toBe(failure);
    expect(await connection.connect()).toBe(true);
  });
});

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { createFrameCutter } from './frames.ts';
import { writeEnds } from './lost-tail.ts';
import { type KafkaProxy, type Mischief, startKafkaProxy } from './proxy.ts';

const [produce, heartbeat] = [0, 12];

/** A request as its head is: size, api, version, correlation id, client id. */
function request(api: number, correlationId: number): Buffer {
  const frame = Buffer.alloc(18);
  frame.writeInt32BE(14, 0);
  frame.writeInt16BE(api, 4);
  frame.writeInt32BE(correlationId, 8);
  frame.writeInt16BE(4, 12);
  frame.write('copy', 14);
  return frame;
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A broker that answers every request with its correlation id, behind a proxy, and a client. */
async function through(): Promise<{
  readonly proxy: KafkaProxy;
  readonly client: Socket;
  readonly came: readonly number[];
  readonly answered: readonly number[];
}> {
  const [came, answered]: [number[], number[]] = [[], []];
  const broker = createServer((socket) => {
    const cut = createFrameCutter();
    socket.on('data', (piece: Buffer) => {
      for (const frame of cut(piece)) {
        came.push(frame.readInt32BE(8));
        const answer = Buffer.alloc(8);
        answer.writeInt32BE(4, 0);
        answer.writeInt32BE(frame.readInt32BE(8), 4);
        socket.write(answer);
      }
    });
  });
  const [port, brokerPort] = [await freePort(), await freePort()];
  broker.listen(brokerPort, '127.0.0.1');
  await once(broker, 'listening');
  const proxy = await startKafkaProxy({ port, brokerPort });
  const client = connect({ host: '127.0.0.1', port });
  const cut = createFrameCutter();
  client.on('data', (piece: Buffer) => {
    for (const frame of cut(piece)) answered.push(frame.readInt32BE(4));
  });
  await once(client, 'connect');
  closing.push(
    () => broker.close(),
    () => proxy.close(),
    () => client.destroy(),
  );
  return { proxy, client, came, answered };
}

test.each<[Mischief['do'], Mischief, number[], number[], boolean]>([
  ['silence', { do: 'silence' }, [1, 2, 3, 4], [1, 2, 4], false],
  ['lose', { do: 'lose' }, [1, 2, 4], [1, 2, 4], false],
  ['hold', { do: 'hold', ms: 50 }, [1, 2, 3, 4], [1, 2, 3, 4], false],
  ['cut', { do: 'cut' }, [1, 2, 3, 4], [1, 2], true],
])('%s meets the second Produce and nothing else', async (_, mischief, come, answers, isCut) => {
  const { proxy, client, came, answered } = await through();
  const closed = vi.fn();
  client.on('close', closed);
  const met = proxy.add({ api: 'Produce', nth: 2, mischief });
  // In pieces that end in the middle of a request.
  const bytes = Buffer.concat([request(produce, 1), request(heartbeat, 2), request(produce, 3), request(produce, 4)]);
  client.write(bytes.subarray(0, 20));
  await vi.waitUntil(() => came.length === 1);
  client.write(bytes.subarray(20));
  expect(await met).toEqual({ api: 'Produce', correlationId: 3, clientId: 'copy' });
  await vi.waitFor(() => expect({ came, answered }).toEqual({ came: come, answered: answers }));
  await vi.waitUntil(() => closed.mock.calls.length === (isCut ? 1 : 0));
});

test('what is held goes on although its client is gone', async () => {
  const { proxy, client, came } = await through();
  const met = proxy.add({ api: 'Produce', nth: 1, mischief: { do: 'hold', ms: 600_000 } });
  client.write(request(produce, 1));
  await met;
  client.destroy();
  await once(client, 'close');
  expect(came).toEqual([]);
  proxy.calm();
  await vi.waitFor(() => expect(came).toEqual([1]));
});

test('a rule that nothing meets ends in the calm', async () => {
  const { proxy } = await through();
  const met = proxy.add({ api: 'JoinGroup', nth: 1, mischief: { do: 'cut' } });
  proxy.calm();
  expect(await met).toBe(undefined);
});

test('appended writes end after a command, or after all commands of a transaction', () => {
  const command = (...parts: string[]): string =>
    `*${parts.length}\r\n${parts.map((part) => `$${part.length}\r\n${part}\r\n`).join('')}`;
  const set = command('SET', 'key', 'a\r\nb');
  const transaction = command('MULTI') + set + command('EXEC');
  const ends = [set.length, set.length + '#TS:1\r\n'.length + transaction.length];
  expect(writeEnds(Buffer.from(`${set}#TS:1\r\n${transaction}`))).toEqual(ends);
});

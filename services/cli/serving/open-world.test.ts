import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { silentLog } from '../../../shared/runtime/log.ts';
import { createEmbeddedInfrastructure } from '../../../shared/runtime/memory/embedded.ts';
import { openRealPorts } from '../ports.ts';
import { openWorld } from './open-world.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const [metadataKey, apiVersionsKey] = [3, 18];

/** A broker that only tells which versions of all requests it takes. */
async function startBroker(takes: (key: number) => readonly [min: number, max: number]) {
  const asked: number[] = [];
  const server = createServer((socket) => {
    socket.on('data', (frame) => {
      const [key, correlationId] = [frame.readInt16BE(4), frame.readInt32BE(8)];
      asked.push(key);
      if (key !== apiVersionsKey) return;
      const keys = Array.from({ length: 62 }, (_, each) => each);
      const answer = Buffer.alloc(4 + 4 + 2 + 4 + keys.length * 6 + 4);
      answer.writeInt32BE(answer.length - 4, 0);
      answer.writeInt32BE(correlationId, 4);
      answer.writeInt32BE(keys.length, 10);
      for (const [index, each] of keys.entries()) {
        for (const [part, value] of [each, ...takes(each)].entries())
          answer.writeInt16BE(value, 14 + index * 6 + part * 2);
      }
      socket.write(answer);
    });
    closing.push(async () => void socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => void server.close());
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, asked };
}

test('brokers whose requests have moved on are refused at the start, and nothing but versions is asked of them', async () => {
  const broker = await startBroker((key) => (key === metadataKey ? [90, 95] : [0, 95]));
  const environment = {
    KAFKA_BROKERS: `127.0.0.1:${broker.port}`,
    REDIS_URL: 'redis://127.0.0.1:1',
    SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
  };
  const infrastructure = createEmbeddedInfrastructure();
  const opening = openWorld({
    ports: {
      bus: openRealPorts(() => environment, silentLog).bus,
      store: async () => infrastructure.store(),
      registry: async () => infrastructure.registry(),
    },
    clock: systemClock,
    log: silentLog,
    stop: new AbortController().signal,
  });
  await expect(opening).rejects.toMatchObject({
    code: 'brokers-unsupported',
    details: { requests: ['Metadata: made in versions 0 to 6, taken in 90 to 95'] },
  });
  expect(new Set(broker.asked)).toEqual(new Set([apiVersionsKey]));
});

import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Load } from '../e2e/checker/check.ts';
import { connectOutside, type OutsideClient } from '../e2e/kafka.ts';
import { tellsOfComment } from '../e2e/load.ts';
import { configureRoutes, secretKeys, threeRoutes } from '../e2e/routes.ts';
import { configureTalk, shortTalk, type Talk } from '../e2e/talk-routes.ts';
import { startNative } from '../harness/native/native.ts';
import type { Infrastructure } from '../harness/parts.ts';
import { freePort } from '../harness/ports.ts';
import { settingsOf } from '../integration/signalbox.ts';
import { type Gate, startGate } from './gate.ts';
import { type KafkaProxy, startKafkaProxy } from './proxy.ts';

/** An infrastructure of its own, with a way for the product that can be disturbed, and one for the checker that cannot. */
export interface ChaosWorld {
  readonly infrastructure: Infrastructure;
  readonly redisDir: string;
  readonly proxy: KafkaProxy;
  readonly registryGate: Gate;
  readonly client: OutsideClient;
  /** What a copy of the product is started with. */
  readonly settings: Readonly<Record<string, string>>;
  /** What is checked: the facts of one connection, on three routes, and the conversations of another. */
  readonly load: Load & { readonly connectionId: string };
  readonly talk: Talk;
  readonly close: () => Promise<void>;
}

/** Starts it, with topics, a connection and its bindings. */
export async function openChaosWorld(report: (line: string) => void): Promise<ChaosWorld> {
  const { KAFKA_BROKERS: _, REDIS_URL: __, SCHEMA_REGISTRY_URL: ___, ...environment } = process.env;
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-chaos-'));
  const [proxyPort, brokerPort] = [await freePort(), await freePort()];
  const kafkaProxy = { port: brokerPort, advertisedPort: proxyPort };
  const infrastructure = await startNative({ dir, keepData: false, environment, kafkaProxy, report });
  const registry = new URL(infrastructure.schemaRegistryUrl);
  const [proxy, registryGate] = [
    await startKafkaProxy({ port: proxyPort, brokerPort }),
    await startGate(Number(registry.port)),
  ];
  registry.port = String(registryGate.port);

  // Neither mark is a part of the other.
  const id = randomUUID().slice(0, 8);
  const mark = `chaos-${id}`;
  const routes = threeRoutes(mark);
  await configureRoutes(settingsOf(infrastructure), mark, routes);
  const client = await connectOutside(infrastructure);
  const talk = shortTalk(`talk-${id}`);
  await configureTalk(settingsOf(infrastructure), client, talk);

  return {
    infrastructure,
    redisDir: join(dir, 'redis'),
    proxy,
    registryGate,
    client,
    settings: {
      KAFKA_BROKERS: `127.0.0.1:${proxyPort}`,
      REDIS_URL: infrastructure.redisUrl,
      SCHEMA_REGISTRY_URL: registry.href,
      // As short as a broker takes it.
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      ...secretKeys,
    },
    load: { mark, routes, tells: tellsOfComment, connectionId: mark },
    talk,
    async close() {
      await client.close();
      await proxy.close();
      await registryGate.close();
      await infrastructure.stop();
    },
  };
}

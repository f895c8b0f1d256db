import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers';
import { BusError } from '../../../shared/errors.ts';
import { kafkaAnswers, redisAnswers, registryAnswers } from '../answers.ts';
import { asVariable, singleNode } from '../kafka-settings.ts';
import { type Infrastructure, type InfrastructureOptions, type Part, type PartName, partNames } from '../parts.ts';
import { askedPort, freePort } from '../ports.ts';
import { since, untilAnswers } from '../waiting.ts';
import { imageOf } from './images.ts';

/** How one part runs in a container, on a loopback port that stays the same when it is restarted. */
interface ContainerPlan {
  readonly title: string;
  readonly inside: number;
  readonly address: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  answers(): Promise<boolean>;
}

const plans: Readonly<Record<PartName, (port: number) => ContainerPlan>> = {
  kafka: (port) => ({
    title: 'Kafka',
    inside: 9092,
    address: `127.0.0.1:${port}`,
    environment: {
      ...Object.fromEntries(Object.entries(singleNode).map(([name, value]) => [asVariable(name), value])),
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_NODE_ID: '1',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_HEAP_OPTS: '-Xms256m -Xmx768m',
    },
    answers: () => kafkaAnswers(port),
  }),
  redis: (port) => ({
    title: 'Redis',
    inside: 6379,
    address: `redis://127.0.0.1:${port}`,
    command: ['redis-server', '--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
    answers: () => redisAnswers(port),
  }),
  registry: (port) => {
    const address = `http://127.0.0.1:${port}/apis/ccompat/v7`;
    return {
      title: 'Schema registry',
      inside: 8080,
      address,
      // In a file of the container, so that a kill and a restart keep the schemas.
      environment: {
        APICURIO_DATASOURCE_URL: 'jdbc:h2:file:/tmp/registry;WRITE_DELAY=0',
        JAVA_OPTS_APPEND: '-Xmx320m',
      },
      answers: () => registryAnswers(address),
    };
  },
};

/** Runs the parts as containers of testcontainers, which removes them however this process ends. */
export async function startContainers(options: InfrastructureOptions): Promise<Infrastructure> {
  const { need = partNames, ports = {}, report } = options;
  const starts = await Promise.allSettled(need.map((part) => start(part, ports[part], report)));
  const running = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async () => {
    await Promise.all(running.map(({ container }) => container.stop()));
  };
  const failed = starts.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const address = (part: PartName): string => running.find((one) => one.part === part)?.address ?? '';
  return {
    way: 'docker',
    kafkaBrokers: address('kafka'),
    redisUrl: address('redis'),
    schemaRegistryUrl: address('registry'),
    parts: Object.fromEntries(running.map(({ part, container, ready }) => [part, asPart(container, ready)])),
    stop,
  };
}

async function start(part: PartName, asked: number | undefined, report: (line: string) => void) {
  const startedAt = Date.now();
  const image = imageOf(part);
  const port = asked === undefined ? await freePort() : await askedPort(asked);
  const plan = plans[part](port);
  report(`  ${plan.title}: starting ${image} (the first time it is fetched)`);
  const prepared = new GenericContainer(image)
    .withExposedPorts({ container: plan.inside, host: port })
    .withEnvironment({ ...plan.environment });
  if (plan.command !== undefined) prepared.withCommand([...plan.command]);
  const container = await prepared.start();
  const ready = async () => {
    const outcome = await untilAnswers({ ...plan, report });
    if (outcome.ready) return;
    const fix = `Read \`docker logs ${container.getId().slice(0, 12)}\`.`;
    throw new BusError('start-failed', { part: plan.title, reason: outcome.reason, fix });
  };
  await ready();
  report(`  ${plan.title}: ready at ${plan.address} after ${since(startedAt)}`);
  return { part, container, ready, address: plan.address };
}

function asPart(container: StartedTestContainer, ready: () => Promise<void>): Part {
  const handle = async () => (await getContainerRuntimeClient()).container.getById(container.getId());
  const kill = async () => {
    const running = await handle();
    if ((await running.inspect()).State.Running) await running.kill();
  };
  return {
    kill,
    async restart() {
      await kill();
      await (await handle()).start();
      await ready();
    },
  };
}

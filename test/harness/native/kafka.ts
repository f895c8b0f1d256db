import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BusError } from '../../../shared/errors.ts';
import { kafkaAnswers } from '../answers.ts';
import { singleNode } from '../kafka-settings.ts';
import type { Environment, InfrastructureOptions } from '../parts.ts';
import { artifacts } from './artifacts.ts';
import type { ProcessPlan } from './process.ts';

const run = promisify(execFile);

const settings = (dir: string, port: number, controllerPort: number): Readonly<Record<string, string>> => ({
  ...singleNode,
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}`,
  listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
  'controller.listener.names': 'CONTROLLER',
  'log.dirs': join(dir, 'data'),
});

/** The settings of one more listener, which tells its clients the address of a proxy. */
const proxied = (
  own: Readonly<Record<string, string>>,
  { port, advertisedPort }: NonNullable<InfrastructureOptions['kafkaProxy']>,
): Readonly<Record<string, string>> => ({
  listeners: `${own.listeners},PROXIED://127.0.0.1:${port}`,
  'advertised.listeners': `${own['advertised.listeners']},PROXIED://127.0.0.1:${advertisedPort}`,
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT',
});

const logging = `rootLogger.level=WARN
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c{1} %m%n
`;

/** Lays a broker's folder out, formats its storage the first time, and says how to run it. */
export async function planKafka(options: {
  readonly dir: string;
  readonly java: string;
  readonly port: number;
  readonly controllerPort: number;
  readonly environment: Environment;
  readonly kafkaProxy?: InfrastructureOptions['kafkaProxy'] | undefined;
}): Promise<ProcessPlan> {
  const { dir, java, port, controllerPort, environment, kafkaProxy } = options;
  const properties = join(dir, 'server.properties');
  const own = settings(dir, port, controllerPort);
  const lines = Object.entries({ ...own, ...(kafkaProxy && proxied(own, kafkaProxy)) }).map(
    ([name, value]) => `${name}=${value}\n`,
  );
  writeFileSync(properties, lines.join(''));
  writeFileSync(join(dir, 'log4j2.properties'), logging);
  const common = [`-Dlog4j2.configurationFile=${join(dir, 'log4j2.properties')}`, '-cp', `${artifacts.kafkaJars}/*`];

  if (!existsSync(join(dir, 'data', 'meta.properties'))) {
    const cluster = `--cluster-id=${randomBytes(16).toString('base64url')}`;
    const format = ['kafka.tools.StorageTool', 'format', '--standalone', cluster, '--config', properties];
    try {
      await run(java, ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...common, ...format], { env: environment });
    } catch (error) {
      throw new BusError('start-failed', { part: 'Kafka', fix: `Empty ${dir} and start again.` }, error);
    }
  }

  const heap = ['-Xms256m', '-Xmx768m', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', '-XX:+ExplicitGCInvokesConcurrent'];
  return {
    title: 'Kafka',
    command: java,
    args: [...heap, ...common, 'kafka.Kafka', properties],
    dir,
    environment,
    address: `127.0.0.1:${port}`,
    answers: () => kafkaAnswers(port),
  };
}

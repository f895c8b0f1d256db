import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { registryAnswers } from '../answers.ts';
import type { Environment } from '../parts.ts';
import { artifacts } from './artifacts.ts';
import type { ProcessPlan } from './process.ts';

export const registryUrl = (port: number): string => `http://127.0.0.1:${port}/apis/ccompat/v7`;

/** Says how to run a registry that keeps its schemas in a file. */
export function planRegistry(options: {
  readonly dir: string;
  readonly java: string;
  readonly port: number;
  readonly environment: Environment;
}): ProcessPlan {
  const { dir, java, port, environment } = options;
  const jar = readdirSync(artifacts.registryFolder).find((name) => name.endsWith('-runner.jar')) ?? 'runner.jar';
  const settings = {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': port,
    'quarkus.http.access-log.enabled': false,
    'quarkus.log.category."io.apicurio".level': 'WARN',
    // Without a delay, so that a schema whose id was told is there after a kill.
    'apicurio.datasource.url': `jdbc:h2:file:${join(dir, 'data', 'registry')};WRITE_DELAY=0`,
    'apicurio.datasource.jdbc.initial-size': 2,
    'apicurio.datasource.jdbc.min-size': 2,
    'apicurio.datasource.jdbc.max-size': 10,
  };
  const small = ['-Xmx320m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  const properties = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
  return {
    title: 'Schema registry',
    command: java,
    args: [...small, ...properties, '-jar', join(artifacts.registryFolder, jar)],
    dir,
    environment,
    address: registryUrl(port),
    answers: () => registryAnswers(registryUrl(port)),
  };
}

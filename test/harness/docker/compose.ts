import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BusError } from '../../../shared/errors.ts';
import { type Infrastructure, type InfrastructureOptions, type PartName, partNames } from '../parts.ts';
import { since } from '../waiting.ts';
import { composeFile } from './images.ts';

const run = promisify(execFile);

/** Runs the parts as docker-compose.yml has them, with the volumes that it names. */
export async function startCompose(options: InfrastructureOptions): Promise<Infrastructure> {
  const { need = partNames, ports = {}, report, environment = process.env } = options;
  const chosen = { kafka: ports.kafka ?? 9092, redis: ports.redis ?? 6379, registry: ports.registry ?? 8081 };
  const env = {
    ...environment,
    HOST_KAFKA_PORT: String(chosen.kafka),
    HOST_REDIS_PORT: String(chosen.redis),
    HOST_REGISTRY_PORT: String(chosen.registry),
  };
  const compose = async (...args: string[]): Promise<void> => {
    try {
      await run('docker', ['compose', '--file', composeFile, ...args], { env });
    } catch (error) {
      throw composeFailed(args, error);
    }
  };

  const startedAt = Date.now();
  report(`Starting ${need.join(', ')} with docker compose (the first time their images are fetched)`);
  await compose('up', '--detach', '--wait', ...need);
  report(`  ready after ${since(startedAt)}`);

  const address = (part: PartName, text: string): string => (need.includes(part) ? text : '');
  const part = (name: PartName) => ({
    kill: () => compose('kill', name),
    restart: async () => {
      await compose('kill', name);
      await compose('up', '--detach', '--wait', '--no-recreate', name);
    },
  });
  return {
    way: 'docker',
    kafkaBrokers: address('kafka', `127.0.0.1:${chosen.kafka}`),
    redisUrl: address('redis', `redis://127.0.0.1:${chosen.redis}`),
    schemaRegistryUrl: address('registry', `http://127.0.0.1:${chosen.registry}/apis/ccompat/v7`),
    parts: Object.fromEntries(need.map((name) => [name, part(name)])),
    stop: () => compose('stop', ...need),
  };
}

function composeFailed(args: readonly string[], error: unknown): BusError {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  const about = { command: `docker compose ${args.join(' ')}`, lastLines: stderr.trimEnd().split('\n').slice(-20) };
  if (/ENOENT|unknown command|not a docker command/.test(stderr)) {
    return new BusError(
      'tool-missing',
      { ...about, fix: 'Install the compose plugin of Docker (docker-compose-plugin).' },
      error,
    );
  }
  if (/port is already allocated|address already in use/.test(stderr)) {
    return new BusError(
      'port-taken',
      { ...about, fix: 'Stop what listens on the named port, or ask for another.' },
      error,
    );
  }
  return new BusError('start-failed', { ...about, fix: 'Read `docker compose logs`.' }, error);
}

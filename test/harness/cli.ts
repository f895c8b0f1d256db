import { parseArgs } from 'node:util';
import { BusError, errors } from '../../shared/errors.ts';
import { startInfrastructure } from './infrastructure.ts';

const usage = 'usage: node test/harness/cli.ts up [--dir .signalbox/infrastructure]';

// Progress on one stream, what a shell can evaluate on the other.
const report = (line: string) => process.stderr.write(`${line}\n`);

async function up(dir: string): Promise<void> {
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  const infrastructure = await startInfrastructure({ dir, keepData: true, report });
  const { kafkaBrokers, redisUrl, schemaRegistryUrl } = infrastructure;
  process.stdout.write(
    `export KAFKA_BROKERS=${kafkaBrokers}\nexport REDIS_URL=${redisUrl}\nexport SCHEMA_REGISTRY_URL=${schemaRegistryUrl}\n`,
  );
  report('Up until Ctrl-C; what is stored stays.');
  await interrupted;
  report('Stopping.');
  await infrastructure.stop();
}

try {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { dir: { type: 'string', default: '.signalbox/infrastructure' } },
  });
  if (positionals.join(' ') !== 'up') throw new BusError('input-invalid', { fix: usage });
  await up(values.dir);
} catch (error) {
  if (!(error instanceof BusError)) throw error;
  const { fix = errors[error.code].fix, ...details } = error.details;
  report(`${error.code}: ${error.message}`);
  if (Object.keys(details).length > 0) report(JSON.stringify(details, null, 2));
  report(`To do: ${fix}`);
  process.exitCode = 1;
}

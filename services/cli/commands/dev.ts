import { join } from 'node:path';
import { z } from 'zod';
import { defineCommand } from '../command.ts';
import { environmentFile } from '../environment.ts';
import { writeEnvironmentFile } from '../environment-file.ts';

export const dev = defineCommand({
  name: 'dev',
  summary: 'Start Kafka, Redis and a schema registry, and stay until Ctrl-C.',
  details:
    `How they are reached is written to ${environmentFile}, which the other commands read in this folder. What they store ` +
    'stays in .signalbox and is there again at the next start. With Docker they run in containers, else as processes.',
  options: z.strictObject({}),

  async run(_options, { terminal, present, given, untilStopped }) {
    const { startInfrastructure } = await import('../../../test/harness/infrastructure.ts');
    const stopped = untilStopped();
    void stopped.then(() => terminal.note('Stopping.'));
    const folder = process.cwd();
    const infrastructure = await startInfrastructure({
      dir: join(folder, '.signalbox', 'infrastructure'),
      keepData: true,
      environment: given,
      report: terminal.note,
    });
    try {
      const { SIGNALBOX_SECRET_KEYS: _key, ...addresses } = writeEnvironmentFile(folder, infrastructure);
      present(addresses);
      terminal.note('Ready. Ctrl-C stops it.');
      await stopped;
    } finally {
      await infrastructure.stop();
    }
    return undefined;
  },

  show: (addresses: Readonly<Record<string, string>>) =>
    Object.entries(addresses)
      .map(([name, value]) => `export ${name}=${value}`)
      .join('\n'),
});

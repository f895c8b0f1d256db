import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../shared/runtime/clock.ts';
import { LogLevel } from '../../shared/runtime/connection-settings.ts';
import { createLog } from '../../shared/runtime/log.ts';
import { chapters } from './commands/index.ts';
import { processEnvironment, withEnvironmentFile } from './environment.ts';
import { openRealPorts } from './ports.ts';
import { runCommandLine } from './run.ts';
import { createTerminal } from './terminal.ts';

const lingerMs = 500;

const given = processEnvironment();
const logLevel = LogLevel.safeParse(given.SIGNALBOX_LOG_LEVEL);
const terminal = createTerminal(process, (given.NO_COLOR ?? '') !== '');
// Our own file: it has a version.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

process.exitCode = await runCommandLine(process.argv.slice(2), {
  chapters,
  version,
  terminal,
  clock: systemClock,
  // A command answers a person; what its clients would log is in the error that it ends with.
  log: createLog(logLevel.success ? logLevel.data : 'fatal'),
  given,
  environment() {
    const { environment, file } = withEnvironmentFile(given, process.cwd());
    if (file !== undefined) terminal.note(`Using ${file}.`);
    return environment;
  },
  openPorts: openRealPorts,
  startThread: (file, told, limits) => new Worker(file, { workerData: told, resourceLimits: limits ?? {} }),
});

// The command is over. A connection that still waits for an answer would keep the process; output that is still read may.
setInterval(() => {
  if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
}, lingerMs).unref();

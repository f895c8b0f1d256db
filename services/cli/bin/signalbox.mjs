#!/usr/bin/env node
// Plain JavaScript that any Node since 18 can run: the sources need Node 24, which may come from node_modules.
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const needed = 24;

if (Number(process.versions.node.split('.')[0]) >= needed) {
  endWithParent();
  // Types are stripped once for each change of a source, and not at each start.
  module.enableCompileCache();
  await import('../main.ts');
} else {
  runAgain(newerNode());
}

function newerNode() {
  try {
    return createRequire(import.meta.url).resolve('node/bin/node');
  } catch {
    process.stderr.write(
      `signalbox needs Node ${needed} and this is ${process.versions.node}: run \`npm install\`, which brings it.\n`,
    );
    process.exit(1);
  }
}

/** Runs this file under another Node, and lives and ends with it. */
function runAgain(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // A terminal sends Ctrl-C to both processes: passing it on would make it the second one, which ends at once.
  const atTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
    process.on(signal, () => {
      if (!(atTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT'))) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`signalbox cannot start ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/** Where `runAgain` started this process: stop when it is gone, however it went. */
function endWithParent() {
  if (process.channel === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BusError } from '../../../shared/errors.ts';
import type { Environment, Part } from '../parts.ts';
import { since, untilAnswers } from '../waiting.ts';
import { forgetIdentity, keepIdentity } from './identity.ts';

const partingMs = 20_000;

/** How to run one part: what to execute in its folder, and how to see that it is ready. */
export interface ProcessPlan {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly dir: string;
  readonly environment: Environment;
  readonly address: string;
  answers(): Promise<boolean>;
}

export interface RunningProcess extends Part {
  readonly pid: number;
  /** Lets it write what it holds and end; `atOnce` when nobody will want its data. */
  stop(atOnce: boolean): Promise<void>;
}

/** Starts a process and waits until it answers. */
export async function startProcess(plan: ProcessPlan, report: (line: string) => void): Promise<RunningProcess> {
  let child = await spawnAndAsk(plan, report);

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    expected.add(child);
    if (!hasEnded(child)) {
      const exit = once(child, 'exit');
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), partingMs);
      await exit;
      clearTimeout(late);
    }
    forgetIdentity(join(plan.dir, 'pid'));
  };

  return {
    get pid() {
      return child.pid ?? 0;
    },
    kill: () => end('SIGKILL'),
    async restart() {
      await end('SIGKILL');
      child = await spawnAndAsk(plan, report);
    },
    stop: (atOnce) => end(atOnce ? 'SIGKILL' : 'SIGTERM'),
  };
}

// The processes that were told to end: the end of any other is worth a word.
const expected = new WeakSet<ChildProcess>();

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function spawnAndAsk(plan: ProcessPlan, report: (line: string) => void): Promise<ChildProcess> {
  const log = join(plan.dir, 'log');
  const output = openSync(log, 'a');
  // Detached, so that Ctrl-C in a terminal reaches only the owner, which stops the parts after those who use them.
  const child = spawn(plan.command, plan.args, {
    cwd: plan.dir,
    env: plan.environment,
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const startedAt = Date.now();
  await once(child, 'spawn');
  keepIdentity(join(plan.dir, 'pid'), child.pid ?? 0);
  child.on('exit', (code, signal) => {
    if (!expected.has(child)) report(`${plan.title} ended unexpectedly (${signal ?? `code ${code}`}); its log: ${log}`);
  });

  const outcome = await untilAnswers({ ...plan, report, hasEnded: () => hasEnded(child) });
  if (!outcome.ready) {
    expected.add(child);
    child.kill('SIGKILL');
    throw startFailed(plan, log, outcome.reason);
  }
  report(`  ${plan.title}: ready at ${plan.address} after ${since(startedAt)} (pid ${child.pid})`);
  return child;
}

function startFailed(plan: ProcessPlan, log: string, reason: string): BusError {
  const lastLines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-20);
  const about = { part: plan.title, reason, log, lastLines };
  if (lastLines.some((line) => /address already in use|failed to bind|bind: address/i.test(line))) {
    return new BusError('port-taken', {
      ...about,
      fix: `Stop what listens at ${plan.address}, or ask for another port.`,
    });
  }
  return new BusError('start-failed', { ...about, fix: `Read ${log}.` });
}

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/** One process for ever: a pid is given to others after its end, a pid and the instant of its start are not. */
export interface Identity {
  readonly pid: number;
  readonly start: string;
}

/** When the process of this pid started, in whatever words the system has for it; undefined when it has ended. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim() || undefined;
  }
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name, in parentheses, may hold anything; after it come the state (field 3) and later the start (field 22).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : fields[19];
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process may end between any check and this read.
    return undefined;
  }
}

export function isAlive({ pid, start }: Identity): boolean {
  return startOf(pid) === start;
}

/** Writes down which process this is, for whoever cleans up later; says nothing of one that ended already. */
export function keepIdentity(file: string, pid: number): void {
  const start = startOf(pid);
  if (start !== undefined) writeFileSync(file, `${pid} ${start}\n`);
}

export function readIdentity(file: string): Identity | undefined {
  const [, pid, start] = /^(\d+) (.+)\n$/.exec(readIfThere(file) ?? '') ?? [];
  return pid === undefined || start === undefined ? undefined : { pid: Number(pid), start };
}

export function forgetIdentity(file: string): void {
  rmSync(file, { force: true });
}

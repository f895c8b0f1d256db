import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bin } from '../integration/signalbox.ts';

/** A process that is measured. */
export interface Measured {
  readonly pid: number;
  /** What it has printed. */
  readonly said: () => string;
  readonly stop: () => Promise<void>;
}

const running = new Set<ChildProcess>();

/** Starts a Node process and waits until it prints what matches. */
export async function startNode(
  args: readonly string[],
  options: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly folder: string;
    readonly ready: RegExp;
  },
): Promise<Measured> {
  const child = spawn(process.execPath, args, {
    cwd: options.folder,
    env: { ...process.env, ...options.settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let said = '';
  const ready = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      said += part;
      if (options.ready.test(said)) ready.resolve();
    });
  }
  const ended = once(child, 'exit').then(() => {
    running.delete(child);
    ready.reject(new Error(`${args.join(' ')} ended: ${said}`));
  });
  await ready.promise;
  return {
    pid: child.pid ?? 0,
    said: () => said,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Starts `signalbox run …`. */
export const startServices = (
  services: readonly string[],
  options: { readonly settings: Readonly<Record<string, string>>; readonly folder: string },
): Promise<Measured> =>
  startNode([bin, 'run', ...services], {
    settings: { SIGNALBOX_LOG_LEVEL: 'warn', ...options.settings },
    folder: options.folder,
    ready: /Probes: +http/,
  });

/** Starts the bare chain over topics, the first one to be read, the last one only written. */
export const startBareChain = (
  at: { readonly kafkaBrokers: string; readonly redisUrl: string },
  topics: readonly string[],
  folder: string,
): Promise<Measured> =>
  startNode([fileURLToPath(new URL('bare-chain.ts', import.meta.url)), at.kafkaBrokers, at.redisUrl, ...topics], {
    folder,
    ready: /ready/,
  });

/** Ends what still runs. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

// What Linux counts CPU time in, for everybody who reads it.
const ticksPerSecond = 100;

/** CPU seconds that a process has used; undefined where the machine does not say. */
export function cpuSeconds(pid: number | undefined): number | undefined {
  const fields = ofProcess(pid, 'stat')
    ?.replace(/^.*\) /s, '')
    .split(' ');
  return fields === undefined ? undefined : (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The most memory that a process has had so far, in bytes; undefined where the machine does not say. */
export function peakMemory(pid: number | undefined): number | undefined {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(ofProcess(pid, 'status') ?? '')?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024;
}

/** What Linux tells of a process; undefined when it is gone, or this is no Linux. */
function ofProcess(pid: number | undefined, file: 'stat' | 'status'): string | undefined {
  if (pid === undefined) return undefined;
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) {
      return undefined;
    }
    throw error;
  }
}

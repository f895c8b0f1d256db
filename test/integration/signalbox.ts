import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Addresses } from '../harness/parts.ts';

/** How a run of `signalbox` ended, and what it printed. */
export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** The command line's file. */
export const bin = fileURLToPath(new URL('../../services/cli/bin/signalbox.mjs', import.meta.url));

/** The settings that name an infrastructure. */
export const settingsOf = ({ kafkaBrokers, redisUrl, schemaRegistryUrl }: Addresses) => ({
  KAFKA_BROKERS: kafkaBrokers,
  REDIS_URL: redisUrl,
  SCHEMA_REGISTRY_URL: schemaRegistryUrl,
});

const ours = /^(?:KAFKA|REDIS|SCHEMA_REGISTRY|SIGNALBOX|OTEL|NODE_CHANNEL|FORCE_COLOR)/;

/** Starts `signalbox` as a process of its own, in an empty folder unless said otherwise, with these settings alone. */
export function start(
  args: readonly string[],
  options: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly node?: string;
    readonly folder?: string;
  } = {},
): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'signalbox-run-'));
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
  const child = spawn(options.node ?? process.execPath, [bin, ...args], {
    cwd: folder,
    env: { ...inherited, ...options.settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    err += part;
  });
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
      resolve({ code, signal, out, err });
    });
  });
  return { child, ended };
}

/** Runs `signalbox` to its end. */
export const signalbox = (settings: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ran> =>
  start(args, { settings }).ended;

/** Runs a command with --json and answers its value. */
export async function signalboxJson(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<unknown> {
  const { code, out, err } = await signalbox(settings, ...args, '--json');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
  return JSON.parse(out);
}

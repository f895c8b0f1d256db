import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { redisAnswers } from '../answers.ts';
import { startNative } from './native.ts';

/** A folder for a test, gone with it: what is stored in one that keeps its data stays otherwise. */
async function newFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-ending-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const native = fileURLToPath(new URL('native.ts', import.meta.url));

/** An owner of a Redis in a process of its own. Gives the Redis's port and the owner. */
async function ownerElsewhere(dir: string, keepData: boolean) {
  const program = `
    const { startNative } = await import(${JSON.stringify(native)});
    const one = await startNative({ dir: ${JSON.stringify(dir)}, keepData: ${keepData}, need: ['redis'], report: () => undefined });
    process.stdout.write(one.redisUrl);
    process.on('SIGTERM', async () => { await one.stop(); process.exit(0); });
  `;
  const owner = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = await once(owner.stdout, 'data');
  return { owner, port: Number(new URL(String(url)).port) };
}

test('a stop leaves neither a process nor, unless data is kept, a folder', async () => {
  const dir = await newFolder();
  const { stop, redisUrl } = await startNative({ dir, keepData: false, need: ['redis'], report: () => undefined });
  const port = Number(new URL(redisUrl).port);
  expect(await redisAnswers(port)).toBe(true);
  await stop();
  expect({ answers: await redisAnswers(port), folder: existsSync(dir) }).toEqual({ answers: false, folder: false });
});

test.each([
  { signal: 'SIGTERM', keepData: false },
  { signal: 'SIGKILL', keepData: false },
  { signal: 'SIGKILL', keepData: true },
] as const)(
  'an owner that ends by $signal leaves no process, and no folder unless data is kept ($keepData)',
  async ({ signal, keepData }) => {
    const dir = await newFolder();
    const { owner, port } = await ownerElsewhere(dir, keepData);
    expect(await redisAnswers(port)).toBe(true);
    owner.kill(signal);
    await vi.waitUntil(async () => !(await redisAnswers(port)) && !existsSync(join(dir, 'owner')), { timeout: 20_000 });
    const kept = keepData ? join(dir, 'redis', 'log') : dir;
    await vi.waitUntil(() => existsSync(kept) === keepData, { timeout: 20_000 });
  },
);

test('the next start ends what an owner and its watcher left, since both were killed', async () => {
  const dir = await newFolder();
  const { owner, port } = await ownerElsewhere(dir, true);
  owner.kill('SIGSTOP');
  // With the owner's pipe open its watcher waits; forgetting who owns the folder makes the next start treat it as left behind.
  await rm(join(dir, 'owner'));
  const next = await startNative({ dir, keepData: false, need: ['redis'], report: () => undefined });
  expect(Number(new URL(next.redisUrl).port)).toBe(port);
  await next.stop();
  expect(await redisAnswers(port)).toBe(false);
  owner.kill('SIGKILL');
});

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BusError } from '../../../shared/errors.ts';
import { partNames } from '../parts.ts';
import { forgetIdentity, type Identity, isAlive, keepIdentity, readIdentity } from './identity.ts';

const partingMs = 15_000;

export const ownerFile = (dir: string): string => join(dir, 'owner');
export const pidFile = (dir: string, part: string): string => join(dir, part, 'pid');

/** Makes a folder this process's own, and ends what an owner that died hard left running in it. */
export async function claimFolder(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const owner = readIdentity(ownerFile(dir));
  if (owner !== undefined && isAlive(owner)) {
    throw new BusError('start-failed', {
      dir,
      owner: owner.pid,
      fix: `Process ${owner.pid} runs infrastructure in this folder: stop it, or use another folder.`,
    });
  }
  await endLeftovers(dir);
  keepIdentity(ownerFile(dir), process.pid);
}

/** Gives a folder back. Without `keepData` all that the parts stored goes, and the folder too if nothing else is in it. */
export async function leaveFolder(dir: string, keepData: boolean): Promise<void> {
  forgetIdentity(ownerFile(dir));
  if (keepData || !existsSync(dir)) return;
  for (const part of partNames) rmSync(join(dir, part), { recursive: true, force: true });
  if ((await readdir(dir)).length === 0) await rmdir(dir);
}

/** Ends the processes that are written down in a folder and still run: politely, then not. */
export async function endLeftovers(dir: string): Promise<void> {
  const files = partNames.map((part) => pidFile(dir, part));
  await Promise.all(
    files.map(async (file) => {
      const left = readIdentity(file);
      if (left !== undefined && isAlive(left)) await end(left);
      forgetIdentity(file);
    }),
  );
}

async function end(left: Identity): Promise<void> {
  signal(left, 'SIGTERM');
  const deadline = Date.now() + partingMs;
  while (isAlive(left) && Date.now() < deadline) await delay(50);
  signal(left, 'SIGKILL');
  while (isAlive(left)) await delay(50);
}

function signal(left: Identity, name: NodeJS.Signals): void {
  if (!isAlive(left)) return;
  try {
    process.kill(left.pid, name);
  } catch (error) {
    // It ended between the look and the signal.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

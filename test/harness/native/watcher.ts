import { setTimeout as delay } from 'node:timers/promises';
import { endLeftovers, leaveFolder, ownerFile } from './folder.ts';
import { isAlive, readIdentity } from './identity.ts';

const lastBreathMs = 10_000;

// A process of its own that outlives the one which started it, however that ends: its standard input closes then.
const [dir, keep] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: watcher.ts <folder> keep|remove');

process.stdin.on('data', () => undefined);
process.stdin.on('end', async () => {
  const owner = readIdentity(ownerFile(dir));
  // Its end of the pipe closes a moment before it is gone.
  const deadline = Date.now() + lastBreathMs;
  while (owner !== undefined && isAlive(owner) && Date.now() < deadline) await delay(20);
  // No owner: it stopped everything itself. A living one: the folder has a new owner already.
  if (owner === undefined || isAlive(owner)) return;
  await endLeftovers(dir);
  await leaveFolder(dir, keep === 'keep');
});

import { endLeftovers, leaveFolder, ownerFile } from './folder.ts';
import { isAlive, readIdentity } from './identity.ts';

// A process of its own that outlives the one which started it, however that ends: its standard input closes then.
const [dir, keep] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: watcher.ts <folder> keep|remove');

process.stdin.on('data', () => undefined);
process.stdin.on('end', async () => {
  const owner = readIdentity(ownerFile(dir));
  // No owner: it stopped everything itself. A living one: the folder has a new owner already.
  if (owner === undefined || isAlive(owner)) return;
  await endLeftovers(dir);
  await leaveFolder(dir, keep === 'keep');
});

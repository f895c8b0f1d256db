import { readdir, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';

/** Where in a file of appended writes each of them ends: a command, or a transaction of several. */
export function writeEnds(bytes: Buffer): readonly number[] {
  const ends: number[] = [];
  let [at, isInTransaction] = [0, false];
  const line = (): string => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) throw new RangeError('the file ends within a line');
    const text = bytes.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  while (at < bytes.length) {
    const head = line();
    // Redis may note the time between commands.
    if (head.startsWith('#')) continue;
    let name = '';
    for (let part = 0; part < Number(head.slice(1)); part++) {
      const length = Number(line().slice(1));
      if (part === 0) name = bytes.toString('latin1', at, at + length).toUpperCase();
      at += length + 2;
    }
    if (name === 'MULTI') isInTransaction = true;
    if (name === 'EXEC') isInTransaction = false;
    if (!isInTransaction) ends.push(at);
  }
  return ends;
}

/** Takes the last writes from what a stopped Redis has appended, as a crash of its machine would. Answers how many. */
export async function loseTail(redisDir: string, writes: number): Promise<number> {
  const folder = join(redisDir, 'appendonlydir');
  const numberOf = (name: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? -1);
  const newest = (await readdir(folder)).toSorted((a, b) => numberOf(a) - numberOf(b)).at(-1) ?? '';
  const file = join(folder, newest);
  const ends = writeEnds(await readFile(file));
  const lost = Math.min(writes, ends.length);
  await truncate(file, ends[ends.length - lost - 1] ?? 0);
  return lost;
}

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatedLists, generatedPages } from './generators/all.ts';
import { type GeneratedFile, root } from './generators/file.ts';
import { newProvider } from './generators/new-provider.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function presentText(path: string): string | undefined {
  try {
    return readFileSync(new URL(path, root), 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw cause;
  }
}

/** Writes the files whose text is another one, and says which. */
function write(files: readonly GeneratedFile[]): number {
  const changed = files.filter(({ path, text }) => presentText(path) !== text);
  for (const { path, text } of changed) {
    const file = fileURLToPath(new URL(path, root));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    say(`wrote ${path}`);
  }
  return changed.length;
}

const [task, name] = process.argv.slice(2);
if (task === 'new-provider') {
  const made = newProvider(name ?? '');
  if ('refused' in made) {
    say(`no provider was made: ${made.refused}`);
    process.exit(1);
  }
  write(made);
} else if (task !== undefined) {
  say('usage: node docs/generate.ts [new-provider <name>]');
  process.exit(1);
}

const changed = write(await generatedLists()) + write(await generatedPages());
say(changed === 0 ? 'everything generated is as it should be' : `${changed} generated files were brought up to date`);

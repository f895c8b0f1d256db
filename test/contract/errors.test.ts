import { expect, test } from 'vitest';
import { chapters } from '../../services/cli/commands/index.ts';
import { errors } from '../../shared/errors.ts';
import { filesBelow } from './sources.ts';

const code = ['shared', 'services', 'test/harness']
  .flatMap((folder) => filesBelow(folder, /\.ts$/))
  .filter(({ path }) => !path.endsWith('.test.ts') && path !== 'shared/errors.ts');

test('every code can be met: something throws, rejects or logs it', () => {
  const said = code.map(({ text }) => text).join('\n');
  expect(Object.keys(errors).filter((name) => !said.includes(`'${name}'`))).toEqual([]);
});

test('every code says in sentences what it means and what to do', () => {
  const entries = Object.entries(errors);
  const sentences = (text: string): boolean => /^[A-Z].*\.$/s.test(text);
  expect(entries.filter(([, { meaning, fix }]) => !sentences(meaning) || !sentences(fix))).toEqual([]);
});

test('the commands that texts name exist', () => {
  const commands = chapters.flatMap(({ entries }) =>
    entries.flatMap((entry) => ('commands' in entry ? [entry, ...entry.commands] : [entry])).map(({ name }) => name),
  );
  const texts = [...filesBelow('', /\.md$/), ...filesBelow('shared', /errors\.ts$/)];
  const named = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:`|npx |^)signalbox ([a-z]+(?: (?:put|list|show|delete))?)/gm)].map(([, name = '']) => ({
      path,
      name,
    })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ name }) => !commands.includes(name))).toEqual([]);
});

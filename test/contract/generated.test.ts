import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { generatedFiles } from '../../docs/generators/all.ts';
import { filesBelow, root } from './sources.ts';

const files = await generatedFiles();

describe('make generate', () => {
  test.each(files)('$path is what the declarations make of it', ({ path, text }) => {
    expect(readFileSync(new URL(path, root), 'utf8')).toBe(text);
  });

  test('no page or contract is left over from a declaration that went', () => {
    const committed = [...filesBelow('schemas/json', /\.json$/), ...filesBelow('docs/reference', /\.md$/)];
    const made = new Set(files.map(({ path }) => path));
    expect(committed.map(({ path }) => path).filter((path) => !made.has(path))).toEqual([]);
  });
});

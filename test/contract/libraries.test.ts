import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './sources.ts';

const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const versions = z.record(z.string(), z.string());
const { dependencies, devDependencies } = z
  .object({ dependencies: versions, devDependencies: versions })
  .parse(JSON.parse(read('package.json')));

test('every library has its reason in the decisions, and none is left over there', () => {
  const reasoned = [...read('docs/decisions/0001-libraries.md').matchAll(/^- \*\*`([^`]+)`\*\*/gm)];
  expect(reasoned.map(([, name]) => name).sort()).toEqual(
    [...Object.keys(dependencies), ...Object.keys(devDependencies)].sort(),
  );
});

test('versions are exact', () => {
  const all = Object.entries({ ...dependencies, ...devDependencies });
  expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

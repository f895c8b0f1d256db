import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { root } from './file.ts';
import { newProvider } from './new-provider.ts';

/** A folder in which the provider's files find the repository around them, and which goes when the test ends. */
function checkoutWith(files: readonly { readonly path: string; readonly text: string }[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-new-provider-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const shared = ['provider.ts', 'secret.ts', 'signature.ts', 'testing'].map((name) => `shared/${name}`);
  mkdirSync(join(folder, 'shared'));
  for (const path of ['schemas', 'node_modules', 'package.json', ...shared]) {
    symlinkSync(fileURLToPath(new URL(path, root)), join(folder, path));
  }
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

test('a new provider works: its own test passes', () => {
  const files = newProvider('never-made');
  if ('refused' in files) throw new Error(files.refused);
  const folder = checkoutWith(files);
  const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root));
  const report = join(folder, 'report.json');
  execFileSync(process.execPath, [vitest, 'run', 'never-made', '--reporter=json', `--outputFile=${report}`], {
    cwd: folder,
    stdio: 'ignore',
  });
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
    success: true,
    numPassedTests: 3,
    numTotalTests: 3,
  });
}, 30_000);

test('a name that is none, or taken, is refused', () => {
  expect([newProvider(''), newProvider('Acme'), newProvider('../acme'), newProvider('github')]).toEqual([
    { refused: '"" is no name in kebab-case: small letters, digits, single dashes' },
    { refused: '"Acme" is no name in kebab-case: small letters, digits, single dashes' },
    { refused: '"../acme" is no name in kebab-case: small letters, digits, single dashes' },
    { refused: 'shared/providers/github exists' },
  ]);
});

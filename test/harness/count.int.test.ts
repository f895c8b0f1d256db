import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('count.ts', import.meta.url));

function count(report: object): { readonly line: string; readonly status: number | null } {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-count-'));
  const file = join(dir, 'report.json');
  const none = { success: true, numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  writeFileSync(file, JSON.stringify({ ...none, ...report }));
  const { stdout, status } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' });
  rmSync(dir, { recursive: true });
  return { line: stdout, status };
}

test('a run is told in one line that ends in success only if tests ran and none failed', () => {
  expect([
    count({ numPassedTests: 7 }),
    count({ numPassedTests: 7, numPendingTests: 2, numTodoTests: 1 }),
    count({ numPassedTests: 7, numFailedTests: 1, success: false }),
    count({ numPassedTests: 7, success: false }),
    count({}),
  ]).toEqual([
    { line: '7 passed, 0 failed\n', status: 0 },
    { line: '7 passed, 0 failed, 3 skipped\n', status: 0 },
    { line: '7 passed, 1 failed\n', status: 1 },
    { line: '7 passed, 1 failed\n', status: 1 },
    { line: '0 passed, 0 failed\n', status: 1 },
  ]);
});

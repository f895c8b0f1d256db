import { readFileSync } from 'node:fs';
import { z } from 'zod';

// Vitest's JSON reporter; of its many members only these are read.
const Report = z.object({
  success: z.boolean(),
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
});

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: count.ts <report of the JSON reporter>');
const report = Report.parse(JSON.parse(readFileSync(file, 'utf8')));

// A file that fails before its first test fails no test, and a run without a test shows nothing: neither passes.
const failed = report.numFailedTests === 0 && !report.success ? 1 : report.numFailedTests;
const skipped = report.numPendingTests + report.numTodoTests;
process.stdout.write(`${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
if (failed > 0 || report.numPassedTests === 0) process.exitCode = 1;

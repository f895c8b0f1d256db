import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from './file.ts';
import { behavioursIn, behavioursPage, rangesOf, reasonsIn, testsIn } from './reference-behaviours.ts';

test('lines are read with their headings, and nothing else is', () => {
  const page = [
    '# Behaviours',
    '',
    'In 3. words.',
    '',
    '## Filters',
    '',
    '13. G a W b T c.',
    '14. G d',
    '',
    '## Removal',
  ];
  expect(behavioursIn(page.join('\n'))).toStrictEqual([
    { number: 13, heading: 'Filters', text: 'G a W b T c.' },
    { number: 14, heading: 'Filters', text: 'G d' },
  ]);
});

test('the numbers of the page go from 1 on without a gap', () => {
  const lines = behavioursIn(readFileSync(new URL('docs/behaviours.md', root), 'utf8'));
  expect(lines.map(({ number }) => number)).toStrictEqual(lines.map((_, index) => index + 1));
});

test('a test shows the lines whose numbers its name begins with', () => {
  const source = [
    "test('13: one', () => {});",
    'test(\n  "14, 15: \'two\'",\n  () => {},\n);',
    "test.each(all)('16: it\\'s $name', () => {});",
    "test('no number', () => {});",
    "test('7 days: no line', () => {});",
    "contest('17: no test', () => {});",
    "expect(testsIn('test(18: no test either)')).toBe(\"test('18: nor this')\");",
  ];
  expect(testsIn('a.test.ts', source.join('\n'))).toStrictEqual([
    { path: 'a.test.ts', numbers: [13], name: 'one' },
    { path: 'a.test.ts', numbers: [14, 15], name: "'two'" },
    { path: 'a.test.ts', numbers: [16], name: "it's $name" },
  ]);
});

test('a reason is told for each number of its ranges, and goes on over indented lines', () => {
  const page = ['- 3, 60–62: not yet', '  and later.', '- 7: never, see [why](why.md).', '', '- no number: text'];
  expect([...reasonsIn(page.join('\n'))]).toStrictEqual([
    [3, 'not yet and later.'],
    [60, 'not yet and later.'],
    [61, 'not yet and later.'],
    [62, 'not yet and later.'],
    [7, 'never, see [why](../why.md).'],
  ]);
});

test('a line that is shown end to end says so', () => {
  const { text } = behavioursPage();
  const rows = text.split('\n').filter((line) => line.startsWith('|') && line.includes('.int.test.ts)'));
  expect(rows).not.toStrictEqual([]);
  expect(rows.filter((row) => !row.includes('.int.test.ts), end to end'))).toStrictEqual([]);
});

test('each line has a test or the reason why it has none, and none has both', () => {
  const { text } = behavioursPage();
  expect(text).not.toContain('it has to have one');
  const shown = new Set([...text.matchAll(/^\| (\d+) +\| .* \| \[/gm)].map(([, number]) => Number(number)));
  const reasons = reasonsIn(readFileSync(new URL('docs/behaviours.md', root), 'utf8'));
  expect([...reasons.keys()].filter((number) => shown.has(number))).toStrictEqual([]);
});

test('numbers in a row are a range', () => {
  expect([[], [3], [1, 2, 3, 7, 9, 10]].map(rangesOf)).toStrictEqual(['none', '3', '1–3, 7, 9–10']);
});

test('the page tells for each line its tests, and which lines have none', () => {
  const { text } = behavioursPage();
  expect(text).toMatch(
    /^\| 8 +\| .* \[a rule that is unavailable .*\]\(\.\.\/\.\.\/services\/filter\/stage\.test\.ts\)/m,
  );
  const [, count, without = ''] = /^(\d+) of 164 lines have a test\. Without one: (.+)\.$/m.exec(text) ?? [];
  expect(Number(count)).toBeGreaterThan(30);
  expect(without).not.toMatch(/\b8\b/);
});

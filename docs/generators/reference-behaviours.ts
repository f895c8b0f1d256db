import { readdirSync, readFileSync } from 'node:fs';
import { byText, type GeneratedFile, root } from './file.ts';
import { page, table } from './markdown.ts';

/** A line of `docs/behaviours.md`, and the heading that it stands below. */
export interface Behaviour {
  readonly number: number;
  readonly heading: string;
  readonly text: string;
}

/** A test that shows some of these lines. */
export interface ShowingTest {
  readonly path: string;
  readonly numbers: readonly number[];
  readonly name: string;
}

const folders = ['docs', 'schemas', 'services', 'shared', 'test'];
const notOurs = new Set(['node_modules', 'fixtures']);

/** The numbered lines of a page, in their order. */
export function behavioursIn(markdown: string): readonly Behaviour[] {
  let heading = '';
  return markdown.split('\n').flatMap((line) => {
    heading = /^## (.+)$/.exec(line)?.[1] ?? heading;
    const [, number, text] = /^(\d+)\. (.+)$/.exec(line) ?? [];
    return number === undefined || text === undefined ? [] : [{ number: Number(number), heading, text }];
  });
}

/** Why lines have no test, by number: `- 3, 60–64: …`, also over several lines of text. */
export function reasonsIn(markdown: string): ReadonlyMap<number, string> {
  const items = markdown.matchAll(/^- (\d[\d–, ]*): (.+(?:\n {2}.+)*)/gm);
  return new Map(
    [...items].flatMap(([, ranges = '', reason = '']) =>
      ranges.split(', ').flatMap((range) => {
        const [from = Number.NaN, to = from] = range.split('–').map(Number);
        return Array.from({ length: to - from + 1 }, (_, index): [number, string] => [
          from + index,
          // Its links are those of the page, and the table stands one folder below.
          reason.replaceAll(/\n */g, ' ').replaceAll(/\]\((?![a-z]+:|#)/g, '](../'),
        ]);
      }),
    ),
  );
}

/** The tests of a source whose names begin with the numbers of what they show: `26: …`, or `31, 32: …`; none in its texts. */
export function testsIn(path: string, source: string): readonly ShowingTest[] {
  const named = source.matchAll(/^[ \t]*test(?:\.each\([^()]*\))?\(\s*(['"`])(\d+(?:, \d+)*): ((?:\\.|(?!\1).)*)\1/gms);
  return [...named].map(([, , numbers = '', name = '']) => ({
    path,
    numbers: numbers.split(', ').map(Number),
    name: name.replaceAll(/\\(.)/gs, '$1'),
  }));
}

const isEndToEnd = ({ path }: { readonly path: string }): boolean => path.endsWith('.int.test.ts');

/** `docs/reference/behaviours.md`: each line, and the tests that show it. */
export function behavioursPage(): GeneratedFile {
  const markdown = readFileSync(new URL('docs/behaviours.md', root), 'utf8');
  const lines = behavioursIn(markdown);
  const reasons = reasonsIn(markdown);
  const tests = folders
    .flatMap(testFilesBelow)
    .sort(byText)
    .flatMap((path) => testsIn(path, readFileSync(new URL(path, root), 'utf8')));
  const rowsOf = ({ number, text }: Behaviour): readonly string[][] => {
    const showing = tests.filter(({ numbers }) => numbers.includes(number));
    const cells = showing.map(
      ({ path, name }) => `[${name}](../../${path})${isEndToEnd({ path }) ? ', end to end' : ''}`,
    );
    const [first = `none: ${reasons.get(number) ?? 'it has to have one'}`, ...more] = cells;
    return [[String(number), text, first], ...more.map((each) => ['', '', each])];
  };
  const without = lines.filter(({ number }) => !tests.some(({ numbers }) => numbers.includes(number)));
  const endToEnd = lines.filter(({ number }) =>
    tests.some((test) => isEndToEnd(test) && test.numbers.includes(number)),
  );
  const headings = [...new Set(lines.map(({ heading }) => heading))];
  const text = page('Behaviours and their tests', [
    'Each line of [what the gateway does](../behaviours.md), and the tests whose names begin with its number.',
    `${lines.length - without.length} of ${lines.length} lines have a test. Without one: ${rangesOf(without.map(({ number }) => number))}.`,
    `End to end, with Kafka, Redis and a registry: ${endToEnd.length}, which are ${rangesOf(endToEnd.map(({ number }) => number))}.`,
    ...headings.flatMap((heading) => [
      `## ${heading}`,
      table(['Line', 'Behaviour', 'Test'], lines.filter((line) => line.heading === heading).flatMap(rowsOf)),
    ]),
  ]);
  return { path: 'docs/reference/behaviours.md', text };
}

/** Numbers in order as people write them: `1–4, 7`. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ') || 'none';
}

function testFilesBelow(folder: string): readonly string[] {
  return readdirSync(new URL(`${folder}/`, root), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : testFilesBelow(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Chapter, defineCommand } from './command.ts';
import { UsageError } from './failure.ts';
import { parseCommandLine } from './program.ts';
import { plain } from './style.ts';

const replay = defineCommand({
  name: 'replay',
  summary: 'Put rejected messages back.',
  details: 'They go to the topic they came from.',
  examples: ['signalbox replay filter --limit 3'],
  options: z.strictObject({
    stage: z.string().describe('The stage that rejected them.'),
    ids: z.array(z.string().min(2)).default([]).describe('Only these.'),
    limit: z.coerce.number().int().min(1).max(10).default(5).describe('How many at most.'),
    order: z.enum(['oldest', 'newest']).optional().describe('Which first.'),
    configFile: z.string().optional().meta({ description: 'A file.', placeholder: 'path' }),
    label: z.array(z.string()).default([]).describe('A label.'),
    yes: z.boolean().default(false).describe('Do not ask.'),
    wait: z.boolean().default(true).describe('Do not wait.'),
  }),
  positional: ['stage', 'ids'],
  run: async (options) => options,
  show: (options) => JSON.stringify(options),
});
const show = defineCommand({
  name: 'rules show',
  summary: 'Show a rule.',
  options: z.strictObject({ connection: z.string().describe('Its connection.') }),
  run: async (options) => options,
  show: (options) => options.connection,
});
const chapters: readonly Chapter[] = [
  { title: 'Mend', entries: [replay] },
  { title: 'Configure', entries: [{ name: 'rules', summary: 'Rules in force.', commands: [show] }] },
];

const parse = (...args: readonly string[]) => parseCommandLine(chapters, args, { version: '1.2.3', style: plain });
const mistake = async (...args: readonly string[]): Promise<string> => {
  try {
    await parse(...args);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return 'no mistake';
};

test('flags and places become the declared options', async () => {
  const asked = await parse(
    'replay',
    'filter',
    'a1',
    'b2',
    '--limit',
    '3',
    '--label',
    'x',
    '--label',
    'y',
    '--no-wait',
    '--json',
  );
  expect(asked).toEqual({
    type: 'run',
    invocation: {
      command: replay,
      options: { stage: 'filter', ids: ['a1', 'b2'], limit: 3, label: ['x', 'y'], yes: false, wait: false },
      json: true,
    },
  });
});

test('defaults are those of the declaration', async () => {
  const asked = await parse('replay', 'filter');
  expect(asked).toMatchObject({
    invocation: { options: { stage: 'filter', ids: [], limit: 5, label: [], yes: false, wait: true }, json: false },
  });
});

test('a value out of bounds is named by its flag', async () => {
  expect(await mistake('replay', 'filter', '--limit', '99', '--order', 'random')).toBe(
    [
      '--limit: Too big: expected number to be <=10',
      '--order: Invalid option: expected one of "oldest"|"newest"',
      'Try `signalbox replay --help`.',
    ].join('\n'),
  );
});

test('a typo in a flag or a command is an error with a suggestion', async () => {
  expect(await mistake('replay', 'filter', '--limt', '3')).toContain(
    "unknown option '--limt'\n(Did you mean --limit?)",
  );
  expect(await mistake('repaly')).toContain("unknown command 'repaly'\n(Did you mean replay?)");
  expect(await mistake('rules', 'shwo')).toContain("unknown command 'shwo'\n(Did you mean show?)");
});

test('what is missing is named', async () => {
  expect(await mistake('replay')).toContain("missing required argument 'stage'");
  expect(await mistake('rules', 'show')).toContain("required option '--connection <text>' not specified");
  expect(await mistake('rules', 'show', 'extra', '--connection', 'x')).toContain('too many arguments');
});

test('a family without a command shows what it has', async () => {
  expect(await mistake('rules')).toContain('Show a rule.');
});

test('the help has the commands by chapter', async () => {
  const asked = await parse('--help');
  expect(asked).toEqual({
    type: 'text',
    text: [
      'Usage: signalbox <command> [options]',
      '',
      'The event backbone for AI agents: provider facts in, conditional wake-ups out.',
      '',
      'Options:',
      '  -V, --version                      Print the version.',
      '  -h, --help                         Show this help.',
      '',
      'Mend:',
      '  replay [options] <stage> [ids...]  Put rejected messages back.',
      '',
      'Configure:',
      '  rules                              Rules in force.',
      '',
      'Each command explains itself: signalbox <command> --help',
    ].join('\n'),
  });
});

test('the help of a command has its flags, defaults and examples', async () => {
  const asked = await parse('replay', '--help');
  const text = asked.type === 'text' ? asked.text : '';
  expect(text).toContain('They go to the topic they came from.');
  expect(text).toMatch(/--limit <number> +How many at most\. \(default: 5\)/);
  expect(text).toMatch(/--order <oldest\|newest> +Which first\./);
  expect(text).toMatch(/--config-file <path> +A file\./);
  expect(text).toMatch(/--label <text> +A label\. Repeatable\./);
  expect(text).toMatch(/--no-wait +Do not wait\./);
  expect(text).toContain('Examples:\n  $ signalbox replay filter --limit 3');
});

test('the version is printed', async () => {
  expect(await parse('--version')).toEqual({ type: 'text', text: '1.2.3' });
});

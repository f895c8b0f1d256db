import type { AnyCommand } from '../../services/cli/command.ts';
import { chapters } from '../../services/cli/commands/index.ts';
import { type Flag, flagsOf } from '../../services/cli/flags.ts';
import type { GeneratedFile } from './file.ts';
import { code, page, table } from './markdown.ts';

const described = ({ description, required, repeatable, fallback }: Flag): string =>
  [
    description,
    required ? 'Required.' : '',
    repeatable ? 'Repeatable.' : '',
    fallback === undefined ? '' : `Default: ${code(fallback)}.`,
  ]
    .filter((part) => part !== '')
    .join(' ');

function section(command: AnyCommand): readonly string[] {
  const { places, flags } = flagsOf(command);
  const words = [command.name, ...places.map(({ syntax, required }) => (required ? `<${syntax}>` : `[${syntax}]`))];
  const rows = [...places, ...flags].map((flag) => [code(flag.syntax), described(flag)]);
  return [
    `### signalbox ${command.name}`,
    command.summary,
    ...(command.details === undefined ? [] : [command.details]),
    ['```', `signalbox ${words.join(' ')}${flags.length > 0 ? ' [options]' : ''}`, '```'].join('\n'),
    ...(rows.length === 0 ? [] : [table(['Option', 'What it does'], rows)]),
    ...(command.examples === undefined ? [] : [['```sh', ...command.examples, '```'].join('\n')]),
  ];
}

/** `docs/reference/commands.md`. */
export function commandsPage(): GeneratedFile {
  const sections = chapters.flatMap(({ title, entries }) => [
    `## ${title}`,
    ...entries.flatMap((entry) => ('commands' in entry ? entry.commands : [entry])).flatMap(section),
  ]);
  const text = page('Commands', [
    'What `npx signalbox` can do. Each command takes `--help`, and `--json` to print its result as JSON and nothing else.',
    ...sections,
  ]);
  return { path: 'docs/reference/commands.md', text };
}

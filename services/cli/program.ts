import { Command as Commander, CommanderError, Option } from 'commander';
import type { AnyCommand, Chapter, Family } from './command.ts';
import { UsageError } from './failure.ts';
import { type Flag, flagsOf, usageProblems } from './flags.ts';
import type { Style } from './style.ts';

/** A command that was typed, its options parsed. */
export interface Invocation {
  readonly command: AnyCommand;
  readonly options: unknown;
  readonly json: boolean;
}

/** What the command line asks for: a command to run, or a text to show. */
export type Asked =
  | { readonly type: 'run'; readonly invocation: Invocation }
  | { readonly type: 'text'; readonly text: string };

const about = 'The event backbone for AI agents: provider facts in, conditional wake-ups out.';

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

const isFamily = (entry: AnyCommand | Family): entry is Family => 'commands' in entry;

function optionOf(flag: Flag): Option {
  const option = new Option(flag.syntax, describe(flag));
  if (flag.required) option.makeOptionMandatory();
  // The parser's own types are those of commander's examples; the list of the ones before comes as the second argument.
  if (flag.repeatable) option.argParser((value, before: readonly string[] | undefined) => collect(value, before));
  return option;
}

const describe = ({ description, fallback, repeatable }: Flag): string =>
  `${description}${repeatable ? ' Repeatable.' : ''}${fallback === undefined ? '' : ` (default: ${fallback})`}`;

/** Parses what was typed after `signalbox`. Throws `UsageError`. */
export async function parseCommandLine(
  chapters: readonly Chapter[],
  args: readonly string[],
  { version, style }: { readonly version: string; readonly style: Style },
): Promise<Asked> {
  let text = '';
  let mistake = '';
  let invocation: Invocation | undefined;

  const configured = (commander: Commander): Commander =>
    commander
      .exitOverride()
      .showHelpAfterError(`Try \`${commandPath(commander)} --help\`.`)
      .configureOutput({
        writeOut: (part) => {
          text += part;
        },
        writeErr: (part) => {
          mistake += part;
        },
        getOutHasColors: () => true,
        getErrHasColors: () => true,
      })
      .configureHelp({
        showGlobalOptions: false,
        styleTitle: style.bold,
        styleCommandText: style.cyan,
        styleSubcommandTerm: style.cyan,
        styleOptionTerm: style.cyan,
        styleArgumentTerm: style.cyan,
      })
      .helpOption('-h, --help', 'Show this help.')
      .helpCommand(false);

  const add = (parent: Commander, command: AnyCommand): void => {
    const { places, flags } = flagsOf(command);
    const word = command.name.split(' ').at(-1) ?? command.name;
    const commander = configured(parent.command(word)).summary(command.summary);
    commander.description([command.summary, command.details].filter((part) => part !== undefined).join('\n\n'));
    for (const place of places) {
      commander.argument(
        place.required ? `<${place.syntax}>` : `[${place.syntax}]`,
        describe({ ...place, repeatable: false }),
      );
    }
    for (const flag of flags) commander.addOption(optionOf(flag));
    commander.option('--json', 'Print the result as JSON and nothing else.');
    if (command.examples !== undefined) {
      commander.addHelpText(
        'after',
        ['', style.bold('Examples:'), ...command.examples.map((line) => `  $ ${line}`)].join('\n'),
      );
    }
    commander.action(() => {
      const { json, ...options } = commander.opts<Record<string, unknown>>();
      for (const [index, { member }] of places.entries()) {
        const given: unknown = commander.processedArgs[index];
        if (given !== undefined) options[member] = given;
      }
      const parsed = command.options.safeParse(options);
      if (!parsed.success) {
        const help = `Try \`${commandPath(commander)} --help\`.`;
        throw new UsageError([...usageProblems(command, parsed.error), help].join('\n'));
      }
      invocation = { command, options: parsed.data, json: json === true };
    });
  };

  const program = configured(new Commander('signalbox')).description(about);
  program.version(version, '-V, --version', 'Print the version.').usage('<command> [options]');
  for (const { title, entries } of chapters) {
    program.commandsGroup(`${title}:`);
    for (const entry of entries) {
      if (!isFamily(entry)) add(program, entry);
      else {
        const family = configured(program.command(entry.name)).summary(entry.summary).description(entry.summary);
        for (const command of entry.commands) add(family, command);
      }
    }
  }
  program.addHelpText('after', `\nEach command explains itself: ${style.cyan('signalbox <command> --help')}`);

  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { type: 'text', text: text.trimEnd() };
    // A family, or the program itself, without a command: its help is what was missing.
    throw new UsageError((mistake === '' ? text : mistake).trimEnd().replace(/^error: /, ''));
  }
  if (invocation === undefined) return { type: 'text', text: text.trimEnd() };
  return { type: 'run', invocation };
}

function commandPath(commander: Commander): string {
  const { parent } = commander;
  return parent === null ? commander.name() : `${commandPath(parent)} ${commander.name()}`;
}

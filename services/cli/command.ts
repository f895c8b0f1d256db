import type { z } from 'zod';
import type { CommandContext } from './context.ts';
import type { Style } from './style.ts';

/** How a value is shown to a person. */
export interface Page {
  readonly style: Style;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A command: options in, a value out. Flags, help and printing are made from this by the shell. */
export interface Command<Options extends z.ZodObject, Value> {
  /** One word, or two where it belongs to a family: `bindings put`. */
  readonly name: string;
  readonly summary: string;
  /** What a person should know before the first use, below the summary in its help. */
  readonly details?: string;
  readonly examples?: readonly string[];
  /** A closed object: each member is a flag, described; a boolean one takes no value, an array one is repeatable. */
  readonly options: Options;
  /** The members that are given by place instead of by flag, in order; an array one, the last, takes the rest. */
  readonly positional?: readonly (keyof z.output<Options> & string)[];
  /** The value is printed: as JSON with --json, else as `show` lays it out. Undefined prints nothing. */
  readonly run: (options: z.output<Options>, context: CommandContext) => Promise<Value>;
  readonly show: (value: NonNullable<Value>, page: Page) => string;
  /** Where a value that was found and printed can mean that something is wrong; 0 when absent. */
  readonly exitCode?: (value: Value) => 0 | 1;
}

/** A command whose types were forgotten, as the shell carries it. */
// The shell gives `run` what `options` parsed, and `show` what `run` gave, so the wider types are safe there.
// biome-ignore lint/suspicious/noExplicitAny: the one place where the two type parameters are forgotten
export type AnyCommand = Command<any, any>;

/** Declares a command and gives it back unchanged, typed. */
export function defineCommand<Options extends z.ZodObject, Value>(
  command: Command<Options, Value>,
): Command<Options, Value> {
  return command;
}

/** Commands with a first word in common. */
export interface Family {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly AnyCommand[];
}

/** A part of the help: commands that a person needs for one purpose. */
export interface Chapter {
  readonly title: string;
  readonly entries: readonly (AnyCommand | Family)[];
}

import type { Clock } from '../../shared/runtime/clock.ts';
import type { Environment } from '../../shared/runtime/connection-settings.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Chapter } from './command.ts';
import type { Ports, StartThread } from './context.ts';
import { exitCodeOf, failureText, failureValue } from './failure.ts';
import { openContext } from './open-context.ts';
import { parseCommandLine } from './program.ts';
import { plain } from './style.ts';
import type { Terminal } from './terminal.ts';

/** What the command line runs in. */
export interface Surroundings {
  readonly chapters: readonly Chapter[];
  readonly version: string;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  readonly given: Environment;
  readonly environment: () => Environment;
  readonly openPorts: (environment: () => Environment, log: Log) => Ports;
  readonly startThread?: StartThread | undefined;
}

/** Runs what was typed after `signalbox`; answers the exit code. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<0 | 1 | 2> {
  const { chapters, version, terminal, clock } = surroundings;
  const asJson = args.includes('--json');
  const fail = (error: unknown): 1 | 2 => {
    terminal.progress(undefined);
    terminal.note(asJson ? JSON.stringify(failureValue(error), null, 2) : failureText(error, terminal.noteStyle));
    return exitCodeOf(error);
  };

  try {
    const asked = await parseCommandLine(chapters, args, { version, style: asJson ? plain : terminal.style });
    if (asked.type === 'text') {
      terminal.out(asked.text);
      return 0;
    }
    const { command, options, json } = asked.invocation;
    const present = (value: unknown): void => {
      if (value === undefined || value === null) return;
      const page = { style: terminal.style, now: clock.now() };
      terminal.out(json ? JSON.stringify(value, null, 2) : command.show(value, page));
    };
    const { context, close } = openContext({ ...surroundings, present });
    try {
      const value: unknown = await command.run(options, context);
      terminal.progress(undefined);
      present(value);
      return command.exitCode?.(value) ?? 0;
    } finally {
      await close();
    }
  } catch (error) {
    return fail(error);
  }
}

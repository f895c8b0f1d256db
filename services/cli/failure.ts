import { inspect } from 'node:util';
import { BusError, type ErrorEntry, errors } from '../../shared/errors.ts';
import { list, type Style } from './style.ts';

/** The command line was not understood: shown as it is, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const typedWrong: ReadonlySet<string> = new Set(['input-invalid', 'invalid_binding_filter']);

/** 2: what was typed is wrong; 1: it could not be done. */
export const exitCodeOf = (error: unknown): 1 | 2 =>
  error instanceof UsageError || (error instanceof BusError && typedWrong.has(error.code)) ? 2 : 1;

const causeOf = (error: unknown): string | undefined =>
  error instanceof Error && error.message !== '' ? error.message : undefined;

/** A failure as data, for --json. */
export function failureValue(error: unknown): unknown {
  if (error instanceof BusError) {
    const { meaning, fix }: ErrorEntry = errors[error.code];
    const cause = causeOf(error.cause);
    return { error: { code: error.code, meaning, details: error.details, fix, ...(cause !== undefined && { cause }) } };
  }
  if (error instanceof UsageError) return { error: { code: 'usage', meaning: error.message } };
  return { error: { code: 'fault', meaning: error instanceof Error ? error.message : String(error) } };
}

const shownDetail = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(shownDetail).join('\n');
  return JSON.stringify(value) ?? String(value);
};

/** A failure for people: what happened, where exactly, and what to do next. */
export function failureText(error: unknown, style: Style): string {
  if (error instanceof UsageError) return error.message;
  if (!(error instanceof BusError)) {
    return [
      style.red('A fault of ours:'),
      error instanceof Error ? (error.stack ?? error.message) : inspect(error),
      'Please report this text.',
    ].join('\n');
  }
  const { meaning, fix }: ErrorEntry = errors[error.code];
  const details = Object.entries(error.details).flatMap(([name, value]) =>
    shownDetail(value)
      .split('\n')
      .map((line, index): readonly [string, string] => [index === 0 ? name : '', line]),
  );
  const cause = causeOf(error.cause);
  const pairs = cause === undefined ? details : [...details, ['cause', cause] as const];
  return [
    `${style.red(error.code)}  ${meaning}`,
    ...(pairs.length === 0 ? [] : [list(pairs, style).replaceAll(/^/gm, '  ')]),
    `${style.bold('→')} ${fix}`,
  ].join('\n');
}

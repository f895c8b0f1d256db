import { type ErrorEntry, errors } from '../../shared/errors.ts';
import { byText, type GeneratedFile } from './file.ts';
import { code, page, table } from './markdown.ts';

/** `docs/reference/errors.md`. */
export function errorsPage(): GeneratedFile {
  const entries: readonly (readonly [string, ErrorEntry])[] = Object.entries(errors);
  const rows = [...entries]
    .sort(([a], [b]) => byText(a, b))
    .map(([name, { status, retry, meaning, fix }]) => [code(name), String(status), retry ? 'yes' : 'no', meaning, fix]);
  const text = page('Errors', [
    'Every code that a caller, an operator or a dead letter can show. Codes are stable. "Retry": the same again may help.',
    table(['Code', 'HTTP', 'Retry', 'Meaning', 'What to do'], rows),
  ]);
  return { path: 'docs/reference/errors.md', text };
}

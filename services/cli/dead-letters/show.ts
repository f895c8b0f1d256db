import { type ErrorEntry, errors } from '../../../shared/errors.ts';
import { positionText } from '../../../shared/journey/position.ts';
import type { Page } from '../command.ts';
import { list, type Style, table } from '../style.ts';
import { ago, instant } from '../time.ts';
import type { Redrive } from './aftermath.ts';
import { type Content, printable } from './content.ts';
import type { ListedLetter } from './read-letters.ts';

/** Letters of one stage and code, counted. */
export interface LetterCount {
  readonly stage: string;
  readonly code: string;
  readonly letters: number;
  /** How many of them were redriven. */
  readonly redriven: number;
}

/** A letter as a value that is printed. */
export type LetterRow = ReturnType<typeof rowOf>;

/** A letter for people and programs: positions as text, and no bytes. */
export const rowOf = ({ position, source, identity: _, ...letter }: ListedLetter) => ({
  position: positionText(position),
  ...letter,
  source: positionText(source),
});

/** Counts letters by stage and code. */
export function countLetters(letters: readonly ListedLetter[]): readonly LetterCount[] {
  const counts = new Map<string, LetterCount>();
  for (const { stage, code, redrivenAt } of letters) {
    const key = `${stage} ${code}`;
    const known = counts.get(key) ?? { stage, code, letters: 0, redriven: 0 };
    const redriven = known.redriven + (redrivenAt === undefined ? 0 : 1);
    counts.set(key, { ...known, letters: known.letters + 1, redriven });
  }
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count);
}

/** Letters, one a line. */
export const showLetters = (rows: readonly LetterRow[], { style, now }: Page): string =>
  table(
    ['position', 'age', 'stage', 'code', 'part', 'key', 'fact', 'redriven'],
    rows.map((row) => [
      row.position,
      ago(row.at, now),
      row.stage,
      style.red(row.code),
      printable(row.part ?? ''),
      printable(row.key ?? ''),
      printable(row.rootId),
      row.redrivenAt === undefined ? '' : style.green(ago(row.redrivenAt, now)),
    ]),
    style,
  );

/** Counts, one a line. */
export const showCounts = (counts: readonly LetterCount[], style: Style): string =>
  table(
    ['stage', 'code', 'letters', 'redriven'],
    counts.map(({ stage, code, letters, redriven }) => [stage, code, String(letters), String(redriven)]),
    style,
    ['letters', 'redriven'],
  );

/** One letter with all that is known of it. */
export interface LetterReport extends LetterRow {
  /** The id that the rejected message had and keeps when it is redriven. */
  readonly messageId: string;
  readonly bytes: number;
  readonly redrives: readonly Redrive[];
  readonly content?: Content;
}

const entryOf = (code: string): ErrorEntry | undefined =>
  // Codes of the table are its own keys; a letter of a newer version may have one that is not there.
  Object.hasOwn(errors, code) ? errors[code as keyof typeof errors] : undefined;

/** A letter for a person: what happened, to what, what came of it, and what to do. */
export function showLetter(report: LetterReport, { style, now }: Page): string {
  const entry = entryOf(report.code);
  const details = Object.entries(report.details).map(([name, value]): [string, string] => [
    name,
    printable(typeof value === 'string' ? value : JSON.stringify(value)),
  ]);
  const facts: [string, string][] = [
    ['position', report.position],
    ['rejected', `${instant(report.at)} (${ago(report.at, now)}) by ${report.stage}`],
    ['code', `${style.red(report.code)}${entry === undefined ? '' : `  ${entry.meaning}`}`],
    ...details,
    ...(report.part === undefined ? [] : [['part', printable(report.part)] as [string, string]]),
    ['record', `${report.source}, ${report.bytes} bytes`],
    ...(report.key === undefined ? [] : [['key', printable(report.key)] as [string, string]]),
    ['fact', printable(report.rootId)],
    ['message', printable(report.messageId)],
    ...report.redrives.map((redrive): [string, string] => ['redriven', redriveText(redrive, now)]),
  ];
  return [
    list(facts, style),
    ...(report.content === undefined ? [] : ['', contentText(report.content)]),
    '',
    ...(entry === undefined ? [] : [`${style.bold('→')} ${entry.fix}`]),
    `${style.bold('→')} signalbox dlq redrive ${report.position}${report.redrives.length > 0 ? ' --again' : ''}`,
  ].join('\n');
}

function redriveText({ at, position, ends }: Redrive, now: number): string {
  const when = `${instant(at)} (${ago(at, now)})`;
  if (position === undefined) return `${when}, as a record that is no longer kept`;
  if (ends.length === 0) return `${when} as ${position}, nothing was decided yet`;
  const texts = ends.map(({ stage, status, reason, about }) => {
    const route = about.bindingName === undefined ? '' : ` for ${about.agentUid}/${about.bindingName}`;
    return printable(`${stage}: ${status}${route}${reason === undefined ? '' : ` (${reason})`}`);
  });
  return `${when} as ${position}, ended as ${texts.join(', ')}`;
}

function contentText(content: Content): string {
  switch (content.type) {
    case 'none':
      return 'no value';
    case 'frame':
      return `schema id ${content.schemaId}\n${printable(JSON.stringify(content.value, null, 2))}`;
    case 'text':
      return printable(content.text);
    case 'bytes':
      return `base64 ${content.base64}`;
  }
}

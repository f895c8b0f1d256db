/** Marks up text for a terminal; leaves it alone where there is none. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

const same = (text: string): string => text;

/** No colours. */
export const plain: Style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };

const sgr = (on: number, off: number) => (text: string) => (text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`);

/** The sixteen colours that every terminal has. */
export const coloured: Style = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39),
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins every mark
const marks = /\u001b\[\d+m/g;

/** The columns that a text takes. */
export const widthOf = (text: string): number => [...text.replaceAll(marks, '')].length;

/** Fills a text up with spaces. */
export const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Lines up rows under a heading; columns of numbers (by heading) stand to the right. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  style: Style,
  toTheRight: readonly string[] = [],
): string {
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const line = (cells: readonly string[]): string =>
    headings
      .map((heading, column) => {
        const cell = cells[column] ?? '';
        const width = widths[column] ?? 0;
        return toTheRight.includes(heading) ? ' '.repeat(width - widthOf(cell)) + cell : padded(cell, width);
      })
      .join('  ')
      .trimEnd();
  return [line(headings.map((heading) => style.dim(heading))), ...rows.map(line)].join('\n');
}

/** Names and values, one a line. */
export function list(pairs: readonly (readonly [name: string, value: string])[], style: Style): string {
  const width = Math.max(0, ...pairs.map(([name]) => widthOf(name)));
  return pairs.map(([name, value]) => `${style.dim(padded(name, width))}  ${value}`.trimEnd()).join('\n');
}

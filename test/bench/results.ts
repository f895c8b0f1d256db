import { appendFileSync, writeFileSync } from 'node:fs';

/** What a figure should be. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** Figures of one run. */
export interface Results {
  /** Keeps a figure that another table shows. */
  readonly note: (figure: string, value: number | undefined, unit: string) => void;
  readonly add: (figure: string, value: number | undefined, unit: string, target?: Target) => void;
  readonly table: () => string;
  /** How many figures are not what they should be. */
  readonly missed: () => number;
}

/** A number with three digits that count. */
export const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

const isMet = (value: number, target: Target): boolean =>
  'atLeast' in target ? value >= target.atLeast : value <= target.atMost;

/** A table in plain text, with the columns that are named at the right. */
export function plainTable(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const padded = (cell: string, column: number): string =>
    right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map(padded).join('  ').trimEnd()).join('\n');
}

/** Writes each figure as a line of JSON to a file, and all of them as a table. What could not be measured is left out. */
export function createResults(file: string): Results {
  const rows: (readonly string[])[] = [];
  let missed = 0;
  writeFileSync(file, '');
  const note: Results['note'] = (figure, value, unit) => {
    if (value === undefined || !Number.isFinite(value)) return;
    appendFileSync(file, `${JSON.stringify({ figure, value: Number(value.toPrecision(6)), unit })}\n`);
  };
  return {
    note,
    add(figure, value, unit, target) {
      if (value === undefined || !Number.isFinite(value)) return;
      note(figure, value, unit);
      const wanted = target === undefined ? '' : 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
      const verdict = target === undefined ? '' : isMet(value, target) ? 'ok' : 'missed';
      if (verdict === 'missed') missed++;
      rows.push([figure, shown(value), unit, wanted, verdict]);
    },
    missed: () => missed,
    table: () => plainTable([['figure', 'value', 'unit', 'target', ''], ...rows], [1]),
  };
}

import { appendFileSync, writeFileSync } from 'node:fs';

/** What a figure should be. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** Figures of one run. */
export interface Results {
  readonly add: (figure: string, value: number | undefined, unit: string, target?: Target) => void;
  readonly table: () => string;
  /** How many figures are not what they should be. */
  readonly missed: () => number;
}

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

const isMet = (value: number, target: Target): boolean =>
  'atLeast' in target ? value >= target.atLeast : value <= target.atMost;

/** Writes each figure as a line of JSON to a file, and all of them as a table. What could not be measured is left out. */
export function createResults(file: string): Results {
  const rows: (readonly string[])[] = [];
  let missed = 0;
  writeFileSync(file, '');
  return {
    add(figure, value, unit, target) {
      if (value === undefined || !Number.isFinite(value)) return;
      const rounded = Number(value.toPrecision(6));
      appendFileSync(file, `${JSON.stringify({ figure, value: rounded, unit })}\n`);
      const wanted = target === undefined ? '' : 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
      const verdict = target === undefined ? '' : isMet(value, target) ? 'ok' : 'missed';
      if (verdict === 'missed') missed++;
      rows.push([figure, shown(value), unit, wanted, verdict]);
    },
    missed: () => missed,
    table() {
      const all = [['figure', 'value', 'unit', 'target', ''], ...rows];
      const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
      return all
        .map((row) =>
          row
            .map((cell, column) => (column === 1 ? cell.padStart(widths[1] ?? 0) : cell.padEnd(widths[column] ?? 0)))
            .join('  ')
            .trimEnd(),
        )
        .join('\n');
    },
  };
}

import { plainTable, type Results, shown } from '../bench/results.ts';
import type { Samples } from './sampling.ts';

// What a process takes when it is new says nothing of the hours after.
const leastJudgedMs = 600_000;

/** Tells how the figures of these processes went, and which of them grew too much, if the time was enough to say so. */
export function judgeGrowth(
  tracks: Samples['tracks'],
  judged: {
    readonly names: readonly string[];
    readonly fromMs: number;
    readonly untilMs: number;
    readonly percent: number;
  },
  results: Results,
): readonly string[] {
  const { names, fromMs, untilMs, percent } = judged;
  const isJudged = untilMs - fromMs >= leastJudgedMs;
  const rows = [['process', 'figure', 'level', 'peak', 'per hour', '±', '% per hour', '', '']];
  const wrong: string[] = [];
  for (const name of names) {
    for (const { measure, unit, slope, isTooMuch } of tracks.get(name)?.figures(fromMs, percent) ?? []) {
      const { perHour, error, level, peak } = slope;
      const figure = `${name} ${measure}`;
      results.note(figure, level, unit);
      results.note(`${figure} peak`, peak, unit);
      results.note(`${figure} growth`, perHour, `${unit}/h`);
      results.note(`${figure} growth error`, error, `${unit}/h`);
      const share = level === 0 ? '' : `${((perHour * 100) / level).toFixed(1)}`;
      const numbers = [level, peak, perHour, error].map((value) => (Number.isFinite(value) ? shown(value) : 'unknown'));
      rows.push([name, measure, ...numbers, share, unit, isTooMuch && isJudged ? 'grows' : '']);
      if (isTooMuch && isJudged) wrong.push(`${figure} grows by ${shown(perHour)} ± ${shown(error)} ${unit} an hour`);
    }
  }
  process.stdout.write(`\n${plainTable(rows, [2, 3, 4, 5, 6])}\n`);
  process.stdout.write(isJudged ? '\n' : `Growth is judged from ${leastJudgedMs / 60_000} minutes on.\n\n`);
  return wrong;
}

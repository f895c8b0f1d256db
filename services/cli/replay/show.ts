import type { Page } from '../command.ts';
import { table } from '../style.ts';
import { instant } from '../time.ts';
import type { Replayed } from './replay.ts';

/** A replay as it is printed: what was asked, and what was found, as far as the list goes. */
export interface ReplayReport extends Replayed {
  readonly stage: string;
  readonly from: number;
  readonly to: number;
  readonly omitted: number;
}

const endsText = (ends: readonly string[]): string => (ends.length === 0 ? 'nothing' : ends.join(' + '));

/** Lays out what would be decided otherwise now. */
export function showReplay(report: ReplayReport, { style }: Page): string {
  const { stage, from, to, records, foldedBefore, tallies, differences, omitted } = report;
  const warnings = [
    ...(report.undecided > 0
      ? [`${report.undecided} records of this time are not decided yet; they are left out.`]
      : []),
    ...report.shortened.map((topic) => `${topic} no longer has all that was decided then.`),
  ].map(style.yellow);
  const head = [
    `${stage}, ${instant(from)} to ${instant(to)}: ${records} records decided again` +
      (report.keepsRows ? `, upon ${foldedBefore} before them.` : '.'),
    ...warnings,
  ];
  if (differences.length + omitted === 0) return [...head, style.green('No difference.')].join('\n');

  const counted = tallies.map(({ end, more, fewer }) => `${more} more ${end}, ${fewer} fewer`);
  const changed = differences.filter(({ was, now }) => endsText(was) === endsText(now)).length;
  const rows = differences.map(({ rootId, partition, offset, route, was, now }) => [
    rootId,
    route.replace('|', '/'),
    endsText(was),
    endsText(was) === endsText(now) ? `${endsText(now)}, with another content` : endsText(now),
    style.dim(`${partition}/${offset}`),
  ]);
  return [
    ...head,
    '',
    ...(counted.length > 0 ? counted.map(style.bold) : [style.bold(`${changed} with another content`)]),
    '',
    table(['fact', 'for', 'was', 'now', 'at'], rows, style),
    ...(omitted > 0 ? [style.dim(`${omitted} more; --limit shows them.`)] : []),
  ].join('\n');
}

import { padded, type Style, widthOf } from '../style.ts';
import type { Check, Status } from './check.ts';
import type { Diagnosis } from './diagnose.ts';

const markOf = (status: Status, style: Style): string => {
  switch (status) {
    case 'ok':
      return style.green('✔');
    case 'warning':
      return style.yellow('▲');
    case 'failed':
      return style.red('✘');
  }
};

// What is told of one check on a screen; the rest is in --json.
const shownDetails = 12;

function linesOf({ name, status, summary, details, fix }: Check, width: number, style: Style): readonly string[] {
  const hidden = details.length - shownDetails;
  return [
    `  ${markOf(status, style)} ${padded(name, width)}  ${status === 'ok' ? style.dim(summary) : summary}`,
    ...details.slice(0, shownDetails).map((detail) => `      ${detail}`),
    ...(hidden > 0 ? [style.dim(`      and ${hidden} more, in --json`)] : []),
    ...(fix === undefined ? [] : fix.split('\n').map((line) => `    ${style.bold('→')} ${line}`)),
  ];
}

/** A diagnosis for a person: a line for each check, and below those that are not well what to do. */
export function diagnosisText({ groups }: Diagnosis, style: Style): string {
  const checks = groups.flatMap((group) => group.checks);
  const width = Math.max(0, ...checks.map(({ name }) => widthOf(name)));
  const count = (status: Status): number => checks.filter((check) => check.status === status).length;
  const [failed, warned] = [count('failed'), count('warning')];
  const told = [
    ...(failed > 0 ? [style.red(`${failed} broken`)] : []),
    ...(warned > 0 ? [style.yellow(`${warned} worth a look`)] : []),
  ];
  return [
    ...groups.flatMap((group) => [
      style.bold(group.title),
      ...group.checks.flatMap((check) => linesOf(check, width, style)),
      '',
    ]),
    told.length === 0 ? style.green('All is well.') : `${told.join(', ')}.`,
  ].join('\n');
}

import type { OutcomeStatus } from '../../../schemas/decision.ts';
import type { DecisionHop, Hop, JourneyReport, RecordHop } from '../../../shared/journey/report.ts';
import type { Page } from '../command.ts';
import { padded, type Style, widthOf } from '../style.ts';
import { ago, instant, span } from '../time.ts';

/** One line of the tree: when, where in the tree, and what is said about it. */
interface Line {
  readonly since: string;
  readonly clock: string;
  readonly branch: string;
  readonly what: string;
  readonly more: string;
}

const good: readonly OutcomeStatus[] = ['accepted', 'handed_over', 'recorded', 'answered_handshake'];
const bad: readonly OutcomeStatus[] = ['dead_letter', 'loop_guard', 'binding_unavailable'];

/** Journeys for people, the newest last. */
export const showJourneys = (journeys: readonly JourneyReport[], page: Page): string =>
  journeys.map((journey) => showJourney(journey, page)).join('\n\n');

function showJourney(journey: JourneyReport, { style, now }: Page): string {
  const { connectionId, providerEventId, signalChannelId, sourceEntryId } = journey.about;
  const about = [
    connectionId && `connection ${connectionId}`,
    signalChannelId,
    sourceEntryId,
    providerEventId && `event ${providerEventId}`,
  ].filter((part) => part !== undefined && part !== '');
  const { startedAt, endedAt } = journey;
  const when =
    startedAt === undefined
      ? []
      : [`${instant(startedAt)} (${ago(startedAt, now)}), ${span((endedAt ?? startedAt) - startedAt).slice(1)} in all`];
  const lines = linesOf(journey.hops, '', style);
  return [
    style.bold(journey.rootId),
    ...(about.length === 0 ? [] : [style.dim(about.join(' · '))]),
    ...(when.length === 0 ? [] : [style.dim(when.join(''))]),
    summaryOf(journey, style),
    '',
    ...layOut(lines, style),
    ...(journey.dropped === 0 ? [] : [style.yellow(`${journey.dropped} more decisions were not kept.`)]),
  ].join('\n');
}

/** Says in one line how it ended, route by route. */
function summaryOf({ hops }: JourneyReport, style: Style): string {
  const ends = flat(hops).flatMap((hop) => {
    if (hop.type === 'decision') return [`${colour(hop.status, style)(hop.status)}${routeText(hop, ' for ')}`];
    if (hop.type === 'waiting') return [style.cyan(`waiting for ${hop.stage}`)];
    return [];
  });
  return ends.length === 0 ? style.cyan('nothing was decided yet') : ends.join(', ');
}

const flat = (hops: readonly Hop[]): readonly Hop[] => hops.flatMap((hop) => [hop, ...flat(hop.next)]);

function linesOf(hops: readonly Hop[], indent: string, style: Style, isTop = true): readonly Line[] {
  return hops.flatMap((hop, index) => {
    const isLast = index === hops.length - 1;
    const branch = isTop ? '' : `${indent}${isLast ? '└─ ' : '├─ '}`;
    const below = isTop ? '' : `${indent}${isLast ? '   ' : '│  '}`;
    return [lineOf(hop, branch, style), ...linesOf(hop.next, below, style, false)];
  });
}

function lineOf(hop: Hop, branch: string, style: Style): Line {
  switch (hop.type) {
    case 'record':
      return { ...timed(hop), branch, what: recordText(hop, style), more: recordMore(hop, style) };
    case 'decision': {
      const paint = colour(hop.status, style);
      const what = `${style.dim(`${hop.stage}:`)} ${paint(`${mark(hop.status)} ${hop.status}`)}`;
      return { ...timed(hop), branch, what, more: decisionMore(hop, style) };
    }
    case 'waiting': {
      const what = style.cyan(`… waiting for ${hop.stage}: group lag ${hop.lag}`);
      return { since: '', clock: '', branch, what, more: '' };
    }
  }
}

const timed = ({ at, sinceFirstMs }: RecordHop | DecisionHop) => ({
  since: sinceFirstMs === undefined ? '' : span(sinceFirstMs),
  clock: at === undefined ? '' : instant(at).slice(11, 23),
});

function recordText(hop: RecordHop, style: Style): string {
  const place = `${hop.topic}/${hop.partition}/${hop.offset}`;
  const maker = hop.redriven === true ? 'redriven' : hop.stage;
  return maker === undefined ? place : `${style.dim(`${maker} →`)} ${place}`;
}

function recordMore(hop: RecordHop, style: Style): string {
  if (hop.at === undefined) return style.yellow('no longer kept');
  if (hop.letter !== undefined) {
    const details = Object.entries(hop.letter.details).map(([name, value]) => `${name}: ${String(value)}`);
    return [style.red(hop.letter.code), ...details].join('  ');
  }
  return hop.effect?.includes('|') === true ? `for ${hop.effect.replace('|', '/')}` : '';
}

function decisionMore(hop: DecisionHop, style: Style): string {
  const place = hop.topic === undefined ? '' : style.dim(`${hop.topic}/${hop.partition}/${hop.offset}`);
  const event = hop.actorEventId === undefined ? '' : `event ${hop.actorEventId}`;
  return [routeText(hop, 'for '), hop.reason ?? '', event, place].filter((part) => part !== '').join('  ');
}

const routeText = ({ agentUid, bindingName }: DecisionHop, before: string): string =>
  agentUid === undefined || bindingName === undefined ? '' : `${before}${agentUid}/${bindingName}`;

const mark = (status: OutcomeStatus): string => (good.includes(status) ? '✔' : bad.includes(status) ? '✗' : '○');

const colour = (status: OutcomeStatus, style: Style): ((text: string) => string) =>
  good.includes(status) ? style.green : bad.includes(status) ? style.red : style.yellow;

/** Lines up the columns: times to the right, then the tree, then what is said beside it. */
function layOut(lines: readonly Line[], style: Style): readonly string[] {
  const sinceWidth = Math.max(...lines.map(({ since }) => widthOf(since)));
  const clockWidth = Math.max(...lines.map(({ clock }) => widthOf(clock)));
  const treeWidth = Math.max(...lines.map(({ branch, what }) => widthOf(branch + what)));
  return lines.map(({ since, clock, branch, what, more }) =>
    [
      ...(sinceWidth === 0 ? [] : [since.padStart(sinceWidth), style.dim(padded(clock, clockWidth))]),
      padded(`${style.dim(branch)}${what}`, treeWidth),
      more,
    ]
      .join('  ')
      .trimEnd(),
  );
}

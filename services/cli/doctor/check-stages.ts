import { type Check, counted, well } from './check.ts';

/** Where a group and its topic stood at an instant, by partition. Committed is -1 where nothing was. */
export interface GroupSample {
  readonly bounds: readonly { readonly start: bigint; readonly end: bigint }[];
  readonly committed: readonly bigint[];
}

/** A stage's group, looked at twice. */
export interface GroupReading {
  readonly stage: string;
  readonly members: number;
  readonly first: GroupSample;
  readonly second: GroupSample;
}

const farBehind = 10_000n;

interface Waiting {
  readonly partition: number;
  readonly from: bigint;
  readonly lag: bigint;
  readonly moved: boolean;
}

const doneOf = ({ bounds, committed }: GroupSample, partition: number): bigint => {
  const [start, done] = [bounds[partition]?.start ?? 0n, committed[partition] ?? -1n];
  return done < start ? start : done;
};

const lagOf = (sample: GroupSample, partition: number): bigint => {
  const lag = (sample.bounds[partition]?.end ?? 0n) - doneOf(sample, partition);
  return lag > 0n ? lag : 0n;
};

/** The partitions that have records left; those that had some at both looks and committed nothing in between do not move. */
function waitingIn({ first, second }: GroupReading): readonly Waiting[] {
  return second.bounds.flatMap((_, partition) => {
    const [from, lag] = [doneOf(second, partition), lagOf(second, partition)];
    if (lag === 0n) return [];
    return [{ partition, from, lag, moved: lagOf(first, partition) === 0n || from > doneOf(first, partition) }];
  });
}

const waits = (lag: bigint): string => `${counted(lag, 'record')} wait${lag === 1n ? 's' : ''}`;

/** Somebody runs the stage, every partition moves, and little waits. */
export function checkStage(reading: GroupReading): Check {
  const { stage, members } = reading;
  const waiting = waitingIn(reading);
  const lag = waiting.reduce((sum, each) => sum + each.lag, 0n);
  const line = ({ partition, from, lag: left }: Waiting): string =>
    `partition ${partition}: ${counted(left, 'record')} from offset ${from} on`;

  if (members === 0) {
    return {
      name: stage,
      status: lag === 0n ? 'warning' : 'failed',
      summary: lag === 0n ? 'nobody runs it' : `nobody runs it, and ${waits(lag)}`,
      details: waiting.map(line),
      fix: `Start it: \`signalbox run ${stage}\`.`,
    };
  }
  const stuck = waiting.filter(({ moved }) => !moved);
  if (stuck.length > 0) {
    return {
      name: stage,
      status: 'failed',
      summary: `${counted(stuck.length, 'partition')} did not move while this looked`,
      details: stuck.map(line),
      fix: 'Look in the log of its process for `waiting`, then at docs/operating.md#a-stage-is-stuck.',
    };
  }
  const summary = `${counted(members, 'member')}, ${lag === 0n ? 'nothing waits' : `${waits(lag)}, all moves`}`;
  if (lag < farBehind) return well(stage, summary);
  return {
    name: stage,
    status: 'warning',
    summary,
    details: waiting.map(line),
    fix: 'Start more copies, up to one for each partition: docs/operating.md#lag-grows.',
  };
}

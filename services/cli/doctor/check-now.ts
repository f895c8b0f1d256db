import { type ErrorEntry, errors } from '../../../shared/errors.ts';
import { type Check, checkOf, counted, doubtful, well } from './check.ts';

/** How far clocks may differ before ages and lags mislead. */
export const clockToleranceMs = 2_000;

/** What was seen of other clocks. */
export interface ClockReading {
  /** The store's clock less this machine's. */
  readonly storeAheadMs: number;
  /** Topics that hold a record whose append time has not come yet here. */
  readonly future: readonly string[];
}

/** The clocks of this machine, the store and the brokers agree. */
export function checkClocks({ storeAheadMs, future }: ClockReading): Check {
  const fix = 'Keep the clocks of all machines in step (NTP).';
  const apart = Math.abs(storeAheadMs);
  const found = future.map((topic) =>
    doubtful(`the brokers are ahead of this machine: ${topic} holds records of a time that has not come`, fix),
  );
  if (apart > clockToleranceMs) {
    found.unshift(doubtful(`Redis is ${apart} ms ${storeAheadMs > 0 ? 'ahead of' : 'behind'} this machine`, fix));
  }
  return checkOf('clocks', found, { well: 'agree', notWell: 'do not agree' });
}

/** A dead letter, as far as a count needs it. */
export interface LetterReading {
  readonly stage: string;
  readonly code: string;
}

const entryOf = (code: string): ErrorEntry | undefined => new Map<string, ErrorEntry>(Object.entries(errors)).get(code);

/** Nothing went to the dead letters in the last hour. `more`: there are others that were not read. */
export function checkDeadLetters({
  letters,
  more,
}: {
  readonly letters: readonly LetterReading[];
  readonly more: boolean;
}): Check {
  const name = 'dead letters';
  if (letters.length === 0) return well(name, 'none in the last hour');
  const kinds = [...Map.groupBy(letters, ({ stage, code }) => `${stage} ${code}`).values()];
  const lines = kinds
    .toSorted((a, b) => b.length - a.length)
    .map((kind) => {
      const [first] = kind;
      const fix = first === undefined ? undefined : entryOf(first.code)?.fix;
      return `${kind.length} × ${first?.stage} ${first?.code}${fix === undefined ? '' : `: ${fix}`}`;
    });
  return {
    name,
    status: 'warning',
    summary: `${more ? 'more than ' : ''}${counted(letters.length, 'record')} in the last hour`,
    details: lines,
    fix: 'Look at them with `signalbox dlq list --since 1h`, correct what the codes name, then redrive them.',
  };
}

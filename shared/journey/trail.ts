import type { LoggedRecord, LogReader } from './log-reader.ts';
import { type Position, parsePosition, positionText } from './position.ts';

/** A record on the way; `logged` is absent when it has left its topic. */
export interface Node {
  readonly position: Position;
  readonly logged: LoggedRecord | undefined;
  readonly parent: string | undefined;
}

/** The records on the way of one fact, each known to come from another. */
export interface Trail {
  readonly nodes: ReadonlyMap<string, Node>;
  /** Adds a record and, one exact read after another, all that it came from. */
  readonly climb: (position: Position) => Promise<void>;
  /** When the first record was appended, and the last one. */
  readonly times: () => readonly number[];
}

/** The dead letter that a redriven record was sent again from. */
export const letterOf = (logged: LoggedRecord | undefined): Position | undefined =>
  logged?.header?.redrive === undefined ? undefined : parsePosition(logged.header.redrive);

/** Starts an empty trail. It goes through redrives, to what a dead letter came from, unless it is to end there. */
export function createTrail(log: LogReader, redrives: 'followed' | 'ends' = 'followed'): Trail {
  const nodes = new Map<string, Node>();
  return {
    nodes,
    async climb(position) {
      for (let next: Position | undefined = position; next !== undefined; ) {
        const key = positionText(next);
        if (nodes.has(key)) return;
        const logged: LoggedRecord | undefined = await log.at(next);
        const letter = redrives === 'followed' ? letterOf(logged) : undefined;
        const from: Position | undefined = logged?.header?.from ?? letter;
        nodes.set(key, { position: next, logged, parent: from === undefined ? undefined : positionText(from) });
        next = from;
      }
    },
    times: () => [...nodes.values()].flatMap(({ logged }) => (logged === undefined ? [] : [logged.record.at])),
  };
}

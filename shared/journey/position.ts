import { parseFrom } from '../runtime/header.ts';

/** Where a record lies in the log. */
export interface Position {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** A position as people read and type it: `accepted-facts/3/120`. */
export const positionText = ({ topic, partition, offset }: Position): string => `${topic}/${partition}/${offset}`;

/** Reads what `positionText` wrote. */
export function parsePosition(text: string): Position | undefined {
  const from = parseFrom(text);
  if (from === undefined || from.effect !== '') return undefined;
  return { topic: from.topic, partition: from.partition, offset: from.offset };
}

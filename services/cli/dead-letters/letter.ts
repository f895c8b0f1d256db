import { type DeadLetter, deadLetters } from '../../../schemas/dead-letter.ts';
import type { LoggedRecord } from '../../../shared/journey/log-reader.ts';
import { type Position, parsePosition } from '../../../shared/journey/position.ts';
import { fromText } from '../../../shared/runtime/header.ts';

/** A dead letter without its bytes: what is enough to list and choose. */
export interface Letter {
  readonly position: Position;
  /** When it became one: the broker's append time. */
  readonly at: number;
  readonly stage: string;
  readonly code: string;
  readonly details: DeadLetter['details'];
  readonly part?: string;
  /** The key of the rejected record; for facts, their channel. */
  readonly key?: string;
  readonly rootId: string;
  /** The rejected record: where it stood. */
  readonly source: Position;
  /** The same for a repeat: a stage that dies between sending and saving writes its letters again. */
  readonly identity: string;
}

/** The letter that a record of the topic carries. */
export function letterOf({ position, record, header }: LoggedRecord, letter: DeadLetter): Letter {
  const { stage, code, details, part, rootId, topic, partition, offset } = letter;
  const source = { topic, partition, offset: BigInt(offset) };
  const origin = header?.from === undefined ? `${topic}/${partition}/${offset}/${part ?? ''}` : fromText(header.from);
  return {
    position,
    at: record.at,
    stage,
    code,
    details,
    ...(part !== undefined && { part }),
    ...(letter.key !== undefined && { key: Buffer.from(letter.key, 'base64').toString('utf8') }),
    rootId,
    source,
    identity: `${stage} ${origin}`,
  };
}

/** Reads `dead-letters/3/17`. */
export function parseLetterPosition(text: string): Position | undefined {
  const position = parsePosition(text);
  return position?.topic === deadLetters.name ? position : undefined;
}

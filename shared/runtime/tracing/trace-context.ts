import { createHash } from 'node:crypto';

/** A place in a trace, as W3C Trace Context has it: ids are lower-case hex of 16 and 8 bytes. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]{0,200})?$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const zeros = /^0+$/;

/** Reads a `traceparent`; undefined when the text is none, so that a strange one counts as absent. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = pattern.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The text of a `traceparent`. */
export const formatTraceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

const digest = (text: string, digits: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);

/** A `traceparent` as it may be passed on; undefined for a text that is none: it could be of any length. */
export const passedOn = (text: string | undefined): string | undefined =>
  parseTraceparent(text) === undefined ? undefined : text;

/** The trace of a fact: the digits of its root id where that is a UUID, as the edge gives it, else a digest of it. */
export const traceIdOf = (rootId: string): string =>
  uuid.test(rootId) ? rootId.replaceAll('-', '') : digest(rootId, 32);

/** The id of a piece of work within a trace. Derived, so that a repeat after a crash has the same one. */
export const spanIdOf = (traceId: string, work: string): string => digest(`${traceId} ${work}`, 16);

const randomDigits = 14;

/**
 * Whether a trace is among the share that is recorded. The last seven bytes of a trace id are random, those of a UUID of
 * version 7 too: comparing them with a threshold gives the same answer everywhere.
 */
export const isSampled = (traceId: string, share: number): boolean =>
  Number.parseInt(traceId.slice(-randomDigits), 16) >= (1 - share) * 16 ** randomDigits;

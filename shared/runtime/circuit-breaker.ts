import type { ErrorCode } from '../errors.ts';
import type { Effect } from '../stage/effects.ts';
import type { FoldedRecord } from './fold.ts';
import type { RecordHeader } from './header.ts';

/** Whether an effect rejects the message as a whole, and not a part of the work. */
export const isWholeReject = (effect: Effect): boolean => effect.do === 'reject' && effect.part === undefined;

/**
 * Whether a rejection says that the stage, or what it was started with, is broken, rather than this one record. What a
 * webhook can bring about never does: nobody out there may stop a stage. Nor does a redriven record, which lies among the
 * dead letters anyway.
 */
export function isOurFault(code: ErrorCode, header: RecordHeader | undefined): boolean {
  if (header?.redrive !== undefined) return false;
  switch (code) {
    case 'stage-fault':
    case 'schema-unknown':
      return true;
    case 'frame-invalid':
    case 'contract-violated':
      // Written by a stage, it is a stage of another version, or an output that went to the wrong topic.
      return header?.from !== undefined;
    default:
      return false;
  }
}

/** Closed, with the rejections in a row so far; or open: the stage must stop. */
export type Breaker =
  | { readonly type: 'closed'; readonly inARow: number }
  | { readonly type: 'open'; readonly inARow: number; readonly code: ErrorCode; readonly offset: bigint };

/**
 * Counts on over the records of one more batch. One message that was decided ends the row; a rejection that is the
 * record's own fault, a repeat and what is folded again neither end it nor count. A limit of 0 never opens.
 */
export function watchRejects(before: Breaker, records: readonly FoldedRecord[], limit: number): Breaker {
  if (before.type === 'open') return before;
  let { inARow } = before;
  for (const record of records) {
    if (record.type === 'decided') {
      if (!record.silent && !record.effects.some(isWholeReject)) inARow = 0;
    } else if (record.type === 'rejected' && record.ours && !record.silent) {
      inARow++;
      if (inARow === limit) return { type: 'open', inARow, code: record.code, offset: record.offset };
    }
  }
  return { type: 'closed', inARow };
}

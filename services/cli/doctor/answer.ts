import { BusError, type ErrorEntry, errors } from '../../../shared/errors.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Check } from './check.ts';

/** What was asked for, or why there was no answer. */
export type Answer<T> =
  | { readonly type: 'answered'; readonly value: T }
  | { readonly type: 'failed'; readonly error: BusError };

/** Asks, and waits no longer than that. A fault of ours passes through. */
export async function answerOf<T>(clock: Clock, limitMs: number, ask: () => Promise<T>): Promise<Answer<T>> {
  const over = new AbortController();
  const late = clock.sleep(limitMs, over.signal).then((): never => {
    throw new BusError('infrastructure-unavailable', { problem: `no answer in ${limitMs / 1_000} s` });
  });
  // After an answer nobody waits for it any more.
  late.catch(() => undefined);
  try {
    return { type: 'answered', value: await Promise.race([ask(), late]) };
  } catch (error) {
    if (error instanceof BusError) return { type: 'failed', error };
    throw error;
  } finally {
    over.abort();
  }
}

/** The check of something that did not answer. */
export function unanswered(name: string, { code, details }: BusError): Check {
  const { meaning, fix }: ErrorEntry = errors[code];
  const texts = Object.entries(details).map(([key, value]) => `${key}: ${String(value)}`);
  return { name, status: 'failed', summary: code, details: [meaning, ...texts], fix };
}

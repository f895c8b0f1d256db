import { BusError } from '../errors.ts';
import type { BusInspection } from './bus.ts';

type Request = BusInspection['requests'][number];

/** The requests that this client and the brokers have no version of in common. */
export const refusedRequests = (requests: readonly Request[]): readonly Request[] =>
  requests.filter(({ made, taken }) => taken === undefined || made.max < taken.min || made.min > taken.max);

/** A request that is refused, in words. */
export function describeRefused({ name, made, taken }: Request): string {
  const by = taken === undefined ? 'not taken by all brokers' : `taken in ${taken.min} to ${taken.max}`;
  return `${name}: made in versions ${made.min} to ${made.max}, ${by}`;
}

/** Throws `brokers-unsupported`: what is refused would fail later, and look like brokers that are away. */
export function requireRequests(requests: readonly Request[]): void {
  const refused = refusedRequests(requests);
  if (refused.length > 0) throw new BusError('brokers-unsupported', { requests: refused.map(describeRefused) });
}

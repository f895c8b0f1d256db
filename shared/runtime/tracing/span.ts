import type { TraceContext } from './trace-context.ts';

/** Something that was done, told when it is over. Attributes hold names, places and codes: never content or secrets. */
export interface Span {
  /** Which service did it. */
  readonly service: string;
  readonly kind: 'server' | 'consumer' | 'client';
  readonly name: string;
  readonly context: TraceContext;
  readonly parent: TraceContext | undefined;
  /** Another trace that this one comes from without belonging to it. */
  readonly link?: TraceContext | undefined;
  /** Epoch milliseconds, as is every instant here. */
  readonly startAt: number;
  readonly endAt: number;
  readonly attributes: Readonly<Record<string, string | number | readonly string[]>>;
  readonly events?: readonly { readonly name: string; readonly at: number }[];
  /** The code of what went wrong. */
  readonly error?: string | undefined;
}

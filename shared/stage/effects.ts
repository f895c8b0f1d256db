import type { OutcomeStatus } from '../../schemas/decision.ts';
import type { About, StagePlace, Topic } from '../../schemas/define.ts';
import type { ErrorCode } from '../errors.ts';

/** A record of another topic. `name` makes its id and its repeat recognisable; its number does where there is no name. */
export interface Emit {
  readonly do: 'emit';
  readonly topic: Topic;
  readonly value: unknown;
  readonly name?: string;
}

/** A projection's new value. Past `expireAt` (epoch milliseconds, derived from message time) it reads as absent. */
export interface Put {
  readonly do: 'put';
  readonly place: StagePlace;
  readonly value: unknown;
  readonly expireAt?: number;
}

/** A projection's row goes. */
export interface Remove {
  readonly do: 'remove';
  readonly place: StagePlace;
}

/** A timer: when due, `value` comes back as a record on the stage's own input topic. One per key; a newer replaces it. */
export interface Later {
  readonly do: 'later';
  readonly key: string;
  readonly dueAt: number;
  readonly value: unknown;
}

/** Takes a timer back. */
export interface Cancel {
  readonly do: 'cancel';
  readonly key: string;
}

/** A request to a provider, made once after the state is saved and the offset committed. */
export interface CallRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
}

/** What a call came to. `status` is absent when no answer came. */
export interface CallAnswer {
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly failure?: string;
}

/** A provider call; `answer` makes of its end a record of the stage's own input topic. */
export interface Call {
  readonly do: 'call';
  readonly request: CallRequest;
  readonly answer: (answer: CallAnswer) => unknown;
}

/** The end of a fact's way here: a record on `decisions`. `rootId` where it is not the message's own fact that ends. */
export interface Outcome {
  readonly do: 'outcome';
  readonly status: OutcomeStatus;
  readonly reason?: string;
  readonly about?: About;
  readonly rootId?: string;
}

/**
 * To the dead letters. Without `part` nothing else of this message happens. With it the other effects stand: one part
 * of the work failed (a binding of the filter), and a redrive does that part alone.
 */
export interface Reject {
  readonly do: 'reject';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  readonly part?: string;
  readonly about?: About;
}

/** What a decision says should happen. */
export type Effect = Emit | Put | Remove | Later | Cancel | Call | Outcome | Reject;

/** A record of another topic. */
export const emit = <V>(topic: Topic<V>, value: NoInfer<V>, name?: string): Emit => ({
  do: 'emit',
  // A topic reads only what was written by its own type, so the wider type is safe to carry.
  topic: topic as Topic,
  value,
  ...(name !== undefined && { name }),
});

/** A projection's new value. */
export const put = <V>(place: StagePlace<V>, value: NoInfer<V>, expireAt?: number): Put => ({
  do: 'put',
  place: place as StagePlace,
  value,
  ...(expireAt !== undefined && { expireAt }),
});

/** A projection's row goes. */
export const remove = <V>(place: StagePlace<V>): Remove => ({ do: 'remove', place: place as StagePlace });

/** A timer that comes back on the stage's own input topic. */
export const later = (key: string, dueAt: number, value: unknown): Later => ({ do: 'later', key, dueAt, value });

/** Takes a timer back. */
export const cancel = (key: string): Cancel => ({ do: 'cancel', key });

/** A provider call, after the commit. */
export const call = (request: CallRequest, answer: (answer: CallAnswer) => unknown): Call => ({
  do: 'call',
  request,
  answer,
});

/** The end of a fact's way here. */
export const outcome = (
  status: OutcomeStatus,
  more: { readonly reason?: string; readonly about?: About; readonly rootId?: string } = {},
): Outcome => ({ do: 'outcome', status, ...more });

/** To the dead letters. */
export const reject = (
  code: ErrorCode,
  details: Reject['details'] = {},
  more: { readonly part?: string; readonly about?: About } = {},
): Reject => ({ do: 'reject', code, details, ...more });

import type { FastifyReply } from 'fastify';
import type { Log } from '../../shared/runtime/log.ts';
import { bodyOf, type Outcome, outcomes } from './outcome.ts';

/** How a request ends: what is logged and counted, and what is said where it is not the outcome's constant. */
export interface Answer {
  readonly outcome: Outcome;
  readonly provider?: string;
  readonly connectionId?: string;
  readonly id?: string;
  readonly partition?: number;
  readonly code?: string;
  readonly causedBy?: string;
  readonly status?: number;
  readonly body?: Readonly<Record<string, unknown>> | string;
}

/** Counts the end of a request. Both labels are from closed sets. */
export type OnOutcome = (counted: { readonly provider: string; readonly outcome: Outcome }) => void;

/** Makes the one function that answers: one log line, one count, and headers that every answer has. */
export function createAnswers(options: {
  readonly log: Log;
  readonly onOutcome: OnOutcome;
  readonly retryAfterSeconds: number;
  readonly isClosing: () => boolean;
}): (reply: FastifyReply, answer: Answer) => FastifyReply {
  return (reply, { status, body, outcome, ...fields }) => {
    const entry = outcomes[outcome];
    options.log[entry.level]({ ...fields, ms: Math.round(reply.elapsedTime) }, entry.message);
    options.onOutcome({ provider: fields.provider ?? 'unknown', outcome });

    reply
      .code(status ?? entry.status)
      .header('cache-control', 'no-store')
      .header('x-content-type-options', 'nosniff');
    if (entry.status === 503) reply.header('retry-after', options.retryAfterSeconds);
    if (options.isClosing()) reply.header('connection', 'close');
    if (typeof body === 'string') return reply.type('text/plain; charset=utf-8').send(body);
    const json = body === undefined ? bodyOf(outcome) : JSON.stringify(body);
    return json === undefined ? reply.send() : reply.type('application/json; charset=utf-8').send(json);
  };
}

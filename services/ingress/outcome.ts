interface OutcomeEntry {
  readonly status: number;
  /** The constant body; none is an empty answer. What a request said is never in it. */
  readonly error?: string;
  readonly level: 'debug' | 'warn' | 'error';
  readonly message: string;
}

const again = { status: 503, error: 'try again later', level: 'warn' } as const;
const unknown = { status: 404, error: 'unknown webhook', level: 'debug' } as const;

/** Every end that a request can have here: what the sender is told and what the log says. Also the labels of the metric. */
export const outcomes = {
  published: { status: 200, level: 'debug', message: 'webhook published' },
  answered_handshake: { status: 200, level: 'debug', message: 'handshake answered' },
  unknown_webhook: { ...unknown, message: 'webhook unknown' },
  signature_invalid: { status: 401, error: 'signature invalid', level: 'warn', message: 'webhook refused' },
  secret_missing: {
    status: 401,
    error: 'signature invalid',
    level: 'warn',
    message: 'webhook without a secret refused',
  },
  unidentified: { status: 400, error: 'webhook invalid', level: 'warn', message: 'webhook without identity refused' },
  body_too_large: { status: 413, level: 'warn', message: 'webhook too large' },
  headers_too_large: { status: 431, level: 'warn', message: 'headers too many' },
  body_cut: { status: 400, error: 'webhook invalid', level: 'debug', message: 'body cut short by the sender' },
  malformed: { status: 400, level: 'debug', message: 'no HTTP request' },
  overloaded: { ...again, message: 'webhook put off: too much at once' },
  unpublished: { ...again, message: 'webhook put off: not published' },
  closing: { ...again, level: 'debug', message: 'webhook put off: closing' },
  failed: { status: 500, error: 'webhook dispatch failed', level: 'error', message: 'webhook dispatch failed' },
} as const satisfies Record<string, OutcomeEntry>;

export type Outcome = keyof typeof outcomes;

const bodies = new Map<Outcome, string>();
for (const [outcome, entry] of Object.entries(outcomes) as [Outcome, OutcomeEntry][]) {
  if (entry.error !== undefined) bodies.set(outcome, JSON.stringify({ error: entry.error }));
}

/** The constant JSON body of an outcome; undefined is an empty answer. */
export const bodyOf = (outcome: Outcome): string | undefined => bodies.get(outcome);

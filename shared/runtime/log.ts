import { type Logger, pino } from 'pino';

/** What the shell writes its log to: fields first, then a fixed phrase. */
export interface Log {
  readonly debug: (fields: object, phrase: string) => void;
  readonly info: (fields: object, phrase: string) => void;
  readonly warn: (fields: object, phrase: string) => void;
  readonly error: (fields: object, phrase: string) => void;
}

/** A JSON log on standard error, so that standard output stays for what a person asked for. */
export function createLog(level: string): Logger {
  return pino({ level, base: { service: 'signalbox' }, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

/** A log that writes nothing. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

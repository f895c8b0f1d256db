import { BusError, type ErrorCode } from '../errors.ts';

/**
 * What a log may say of an exception: its code, its kind and the place where it was thrown. Never its message: a parser
 * quotes what it was reading.
 */
export function faultOf(error: unknown): { readonly code: ErrorCode; readonly causedBy: string } {
  const code = error instanceof BusError ? error.code : 'stage-fault';
  if (!(error instanceof Error)) return { code, causedBy: typeof error };
  const head = String(error);
  const stack = error.stack ?? '';
  const frames = stack.startsWith(head) ? stack.slice(head.length).trim().split('\n') : [];
  return { code, causedBy: [error.name, ...frames.slice(0, 3).map((frame) => frame.trim())].join(' ') };
}

import { BusError } from '../../errors.ts';

/** The names and protocol types of an error and of all that caused it, outermost first. */
function chainOf(error: unknown): readonly string[] {
  const names: string[] = [];
  let current: unknown = error;
  for (let depth = 0; current instanceof Error && depth < 10; depth++) {
    const type: unknown = Reflect.get(current, 'type');
    names.push(current.name, ...(typeof type === 'string' ? [type] : []));
    current = current.cause ?? Reflect.get(current, 'originalError');
  }
  return names;
}

/** Whether an error, or what caused it, has one of these names or protocol types. */
export const isCausedBy = (error: unknown, ...names: readonly string[]): boolean =>
  chainOf(error).some((name) => names.includes(name));

/** A failure of the client as the port promises it. Our own pass through. */
export function failureOf(operation: string, error: unknown): BusError {
  if (error instanceof BusError) return error;
  if (isCausedBy(error, 'MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE')) {
    return new BusError('record-too-large', { operation }, error);
  }
  return new BusError('infrastructure-unavailable', { system: 'kafka', operation, reason: reasonOf(error) }, error);
}

/** The innermost cause in a word, and what the client says of it. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? `${chainOf(error).at(-1)}: ${error.message}` : 'unknown';

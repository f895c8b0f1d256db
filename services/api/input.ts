import type { z } from 'zod';
import { BusError, type ErrorCode } from '../../shared/errors.ts';
import { type AnyOperation, hasBody, routeOf } from '../../shared/operation.ts';

/** A request as far as an operation's input is made of it. */
export interface Parts {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads an operation's input: each member has one place, and what has none is refused. Values are never repeated. */
export function inputOf<World>(operation: AnyOperation<World>, { params, query, body }: Parts): unknown {
  const { method, inPath } = routeOf(operation);
  const rest = hasBody(method) ? (body ?? {}) : query;
  if (!isObject(rest)) throw new BusError('body-malformed');
  if (hasBody(method) && Object.keys(query).length > 0) {
    throw new BusError('input-invalid', { issues: ['the operation takes no query'] });
  }
  const misplaced = inPath.filter((member) => Object.hasOwn(rest, member));
  if (misplaced.length > 0) {
    throw new BusError('input-invalid', { issues: misplaced.map((member) => `${member}: stands in the path alone`) });
  }
  // The one wide member of a forgotten operation that is read here.
  const parsed = (operation.input as z.ZodObject).safeParse({ ...rest, ...params });
  if (parsed.success) return parsed.data;
  const refusals: Readonly<Record<string, ErrorCode | undefined>> = operation.refusals ?? {};
  const issues = parsed.error.issues.map(({ path, message }) => ({ member: String(path[0] ?? ''), path, message }));
  const code = issues.map(({ member }) => refusals[member]).find((refusal) => refusal !== undefined);
  throw new BusError(code ?? 'input-invalid', {
    issues: issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)),
  });
}

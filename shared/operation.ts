import type { z } from 'zod';
import type { Scope, Token } from '../schemas/token.ts';
import type { ErrorCode } from './errors.ts';

/** Who calls an operation. */
export type Caller = Pick<Token, 'id' | 'scopes' | 'agents'>;

/**
 * Whom a token must be for. `agent`: for the `agentUid` of the input. `own`: for any; the operation itself keeps to the
 * caller's agents. `all`: for all agents, since what is shown or done is shared by them.
 */
export type Reach = 'agent' | 'own' | 'all';

/** The methods of operations. */
export type Method = 'GET' | 'PUT' | 'PATCH' | 'DELETE' | 'POST';

/**
 * One operation of the API: HTTP and the OpenAPI document are made from it. The members of `input` that `http` names by
 * `:member` come from the path; the others from the query of a GET or DELETE, and from the body of anything else.
 */
export interface Operation<Input extends z.ZodObject, Output extends z.ZodType, World> {
  /** A verb and nouns: `get-signal-binding`. */
  readonly name: string;
  readonly summary: string;
  readonly details?: string;
  readonly http: `${Method} /${string}`;
  readonly scope: Scope;
  readonly reach: Reach;
  /** A closed object, its members described. */
  readonly input: Input;
  /** What is not declared here does not leave. */
  readonly output: Output;
  /** An input that works, for the document and its tests. */
  readonly example: z.input<Input>;
  /** The codes beside those that every operation can end with. */
  readonly fails: readonly ErrorCode[];
  /** The code of a member that does not fit, where it is not `input-invalid`. */
  readonly refusals?: Readonly<Partial<Record<keyof z.input<Input>, ErrorCode>>>;
  readonly handle: (input: z.output<Input>, world: World, caller: Caller) => Promise<z.input<Output>>;
}

/** An operation whose types were forgotten, as HTTP and the generators carry it. */
// `handle` is given only what `input` parsed, so the wider type is safe there.
// biome-ignore lint/suspicious/noExplicitAny: the one place where the type parameters are forgotten
export type AnyOperation<World> = Operation<any, any, World>;

/** The method and path of an operation, and the members of its input that stand in the path. */
export function routeOf({ http }: { readonly http: string }): {
  readonly method: Method;
  readonly path: string;
  readonly inPath: readonly string[];
} {
  const [method = '', path = ''] = http.split(' ');
  // The type of `http` lets nothing but a method stand before the space.
  return { method: method as Method, path, inPath: [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name) };
}

/** Whether the input of a method comes as a body. */
export const hasBody = (method: Method): boolean => method !== 'GET' && method !== 'DELETE';

/** Whether a caller may act for an agent. */
export const mayActFor = ({ agents }: Caller, agentUid: string): boolean =>
  agents === null || agents.some((agent) => agent === agentUid);

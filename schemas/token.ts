import { z } from 'zod';
import { defineTopic } from './define.ts';
import { AgentUid } from './ids.ts';

/** What a token lets its holder do. */
export const Scope = z.enum([
  'adapters:read',
  'bindings:read',
  'bindings:write',
  'bindings:delete',
  'connections:write',
  'mirror:read',
  'actor-events:read',
  'journeys:read',
]);
export type Scope = z.infer<typeof Scope>;

/** A token's public name: part of its text, and of what logs and lists say. */
export const TokenId = z
  .string()
  .regex(/^[0-9a-f]{12}$/)
  .brand<'TokenId'>();
export type TokenId = z.infer<typeof TokenId>;

/** A bearer token of the API, known by the digest of its text alone. `agents` null: for every agent, and what they share. */
export const Token = z.object({
  id: TokenId,
  name: z.string().min(1).max(100),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(Scope).min(1).max(20),
  agents: z.array(AgentUid).min(1).max(100).nullable(),
  createdAt: z.int().nonnegative(),
  expiresAt: z.int().nonnegative().nullable(),
  revokedAt: z.int().nonnegative().nullable(),
  updatedAt: z.int().nonnegative(),
});
export type Token = z.infer<typeof Token>;

/** The bearer tokens of the API. */
export const tokens = defineTopic<Token>({
  name: 'tokens',
  summary: 'The bearer tokens of the API, as digests.',
  value: Token,
  key: (token) => token.id,
  keep: 'compacted',
  example: Token.parse({
    id: '0f3c9a7b21de',
    name: 'console',
    digest: 'a5f3c6a11b03839d46af9fb43c97c188'.repeat(2),
    scopes: ['bindings:read', 'bindings:write'],
    agents: ['iris'],
    createdAt: 1_929_952_800_000,
    expiresAt: 1_937_728_800_000,
    revokedAt: null,
    updatedAt: 1_929_952_800_000,
  }),
});

import { createHash, randomBytes } from 'node:crypto';
import { type Scope, Token, TokenId } from '../schemas/token.ts';
import type { ErrorCode } from './errors.ts';
import { Secret } from './secret.ts';
import { isEqual } from './signature.ts';
import type { Table } from './stage/stage.ts';

const secretBytes = 32;
const idBytes = 6;
// The prefix lets scanners of repositories find a token that leaked.
const shape = /^sbx_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

// A digest without salt or stretching is enough: what it hides are 256 random bits.
const digestOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** Makes a token, and its text, which is shown once and stored nowhere. */
export function createToken(wanted: {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  readonly expiresAt: number | null;
  readonly now: number;
}): { readonly token: Token; readonly text: Secret } {
  const { now, ...rest } = wanted;
  const id = TokenId.parse(randomBytes(idBytes).toString('hex'));
  const text = `sbx_${id}_${randomBytes(secretBytes).toString('base64url')}`;
  const token = Token.parse({ ...rest, id, digest: digestOf(text), createdAt: now, revokedAt: null, updatedAt: now });
  return { token, text: new Secret(text) };
}

/** Who calls, or why that is not known. */
export type Authentication =
  | { readonly ok: true; readonly token: Token }
  | {
      readonly ok: false;
      readonly code: Extract<ErrorCode, 'token-missing' | 'token-invalid' | 'token-revoked' | 'token-expired'>;
    };

const nobody = '0'.repeat(64);

/** Judges an `authorization` header. That a token was revoked or has expired is told only to who holds its text. */
export function authenticate(
  header: string | undefined,
  { tokens, now }: { readonly tokens: Pick<Table<Token>, 'get'>; readonly now: number },
): Authentication {
  const [, text] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  if (text === undefined) return { ok: false, code: 'token-missing' };
  const [, id] = shape.exec(text) ?? [];
  const token = id === undefined ? undefined : tokens.get(id);
  // Compared also where nothing is known, so that the time of an answer does not tell which ids exist.
  const proved = isEqual(token?.digest ?? nobody, digestOf(text));
  if (token === undefined || !proved) return { ok: false, code: 'token-invalid' };
  if (token.revokedAt !== null) return { ok: false, code: 'token-revoked' };
  if (token.expiresAt !== null && token.expiresAt <= now) return { ok: false, code: 'token-expired' };
  return { ok: true, token };
}

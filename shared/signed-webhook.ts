import type { Verification, WebhookRequest } from './provider.ts';
import { type Secret, secret } from './secret.ts';
import { base64Bytes, hmac, isEd25519Signed, isEqual } from './signature.ts';

/** What a secret holds, and with it the one version of signature that it can check. */
type Key = { readonly version: 'v1' | 'v1a'; readonly bytes: Buffer };

const toleranceSeconds = 300;
const mostSignatures = 20;

/** The setting of a connection whose webhooks are signed. */
export const signingSettings = {
  webhookSecret: secret().describe('Base64, also after whsec_; or an Ed25519 public key in base64 after whpk_.'),
};

/** Holds settings with that one to it: what `refine` takes, asked of those that are well formed in all else. */
export const signingKeyCheck = [
  ({ webhookSecret }: { readonly webhookSecret: Secret }): boolean => keyIn(webhookSecret) !== undefined,
  {
    path: ['webhookSecret'],
    when: ({ issues }: { readonly issues: readonly unknown[] }): boolean => issues.length === 0,
    error: 'A key is expected: base64, also after whsec_, or an Ed25519 public key in base64 after whpk_.',
  },
] satisfies [unknown, unknown];

/** The key in a secret: `whpk_` is an Ed25519 public key, `whsec_` or nothing before the base64 a shared one. */
export function keyIn(secret: Secret): Key | undefined {
  const text = secret.reveal();
  const isPublic = text.startsWith('whpk_');
  const bytes = base64Bytes(isPublic ? text.slice('whpk_'.length) : text.replace(/^whsec_/, ''));
  if (bytes === undefined || (isPublic && bytes.length !== 32)) return undefined;
  return { version: isPublic ? 'v1a' : 'v1', bytes };
}

/** The headers of a signed webhook. The two sets of names are never mixed: the id is read where its proof is. */
export function signingHeaders(headers: WebhookRequest['headers']) {
  for (const name of ['webhook', 'svix']) {
    const id = headers[`${name}-id`];
    const timestamp = headers[`${name}-timestamp`];
    const signatures = headers[`${name}-signature`];
    if (id && timestamp && signatures) return { id, timestamp, signatures };
  }
  return undefined;
}

/** Whether the request was signed with the secret, at about this time. */
export function verifySigned({ headers, body }: WebhookRequest, secret: Secret, now: number): Verification {
  const signing = signingHeaders(headers);
  if (signing === undefined) return refused('id, timestamp or signature is missing');
  const { id, timestamp, signatures } = signing;

  if (!/^\d{1,12}$/.test(timestamp)) return refused('the timestamp is no number of seconds');
  if (Math.abs(Math.floor(now / 1_000) - Number(timestamp)) > toleranceSeconds) {
    return refused(`the timestamp is more than ${toleranceSeconds} s away`);
  }

  const key = keyIn(secret);
  if (key === undefined) return refused('the secret of the connection is no key');
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), body]);
  const isSigned = signatures
    .split(' ', mostSignatures)
    .some((signature) => signature.startsWith(`${key.version},`) && matches(key, content, signature));
  return isSigned ? { ok: true } : refused('no signature matches');
}

function matches({ version, bytes }: Key, content: Buffer, signature: string): boolean {
  const given = signature.slice(version.length + 1);
  if (version === 'v1') {
    return isEqual(hmac({ algorithm: 'sha256', key: bytes, content, encoding: 'base64' }), given);
  }
  return isEd25519Signed({ publicKey: bytes, content, signature: base64Bytes(given) ?? Buffer.alloc(0) });
}

const refused = (reason: string): Verification => ({ ok: false, reason });

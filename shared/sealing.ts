import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SealedSecret } from '../schemas/connection.ts';
import { BusError } from './errors.ts';
import { Secret } from './secret.ts';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** The keys that seal secrets: the one named `sealWith` seals, all of them open. */
export interface KeyRing {
  readonly sealWith: string;
  readonly keys: ReadonlyMap<string, KeyObject>;
}

// Problems name the place in the list and never the text there: it is a key, or was meant to be one.
function readKeyRing(text: string, problem: (message: string) => void): KeyRing | undefined {
  const keys = new Map<string, KeyObject>();
  for (const [index, entry] of text.split(',').entries()) {
    const [, id, encoded = ''] = /^([A-Za-z0-9._-]{1,64}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim()) ?? [];
    const key = Buffer.from(encoded, 'base64');
    if (id === undefined || key.length !== keyBytes) problem(`entry ${index + 1} is not <key id>:<base64 of 32 bytes>`);
    else if (keys.has(id)) problem(`entry ${index + 1} names a key id for the second time`);
    else keys.set(id, createSecretKey(key));
  }
  const [sealWith] = keys.keys();
  return sealWith === undefined ? undefined : { sealWith, keys };
}

/** A key ring as it is written in a setting: `k2:<base64 of 32 bytes>,k1:<…>`; the first key seals. */
export const KeyRing = z
  .string()
  .max(10_000)
  .transform((text, context): KeyRing => {
    const ring = readKeyRing(text, (message) => context.addIssue({ code: 'custom', message }));
    return ring ?? z.NEVER;
  });

/** What a sealed secret is for and who holds it: opening it for anything else fails. */
export interface Sealing {
  readonly keys: KeyRing;
  readonly context: string;
}

/** Seals a secret under the first key of the ring, bound to a context. */
export function seal(secret: Secret, { keys, context }: Sealing): SealedSecret {
  const nonce = randomBytes(nonceBytes);
  const sealer = createCipheriv(cipher, keyNamed(keys, keys.sealWith), nonce, { authTagLength: tagBytes });
  sealer.setAAD(Buffer.from(context, 'utf8'));
  const ciphertext = Buffer.concat([sealer.update(secret.reveal(), 'utf8'), sealer.final()]);
  return {
    keyId: keys.sealWith,
    nonce: nonce.toString('base64'),
    ciphertext: ciphertext.toString('base64'),
    tag: sealer.getAuthTag().toString('base64'),
  };
}

/** Opens a sealed secret. Throws `key-missing`, or `seal-broken` when the text, its context or its key is another. */
export function open(sealed: SealedSecret, { keys, context }: Sealing): Secret {
  const key = keyNamed(keys, sealed.keyId);
  try {
    const opener = createDecipheriv(cipher, key, Buffer.from(sealed.nonce, 'base64'), { authTagLength: tagBytes });
    opener.setAAD(Buffer.from(context, 'utf8'));
    opener.setAuthTag(Buffer.from(sealed.tag, 'base64'));
    const clear = Buffer.concat([opener.update(Buffer.from(sealed.ciphertext, 'base64')), opener.final()]);
    return new Secret(clear.toString('utf8'));
  } catch (cause) {
    throw new BusError('seal-broken', { keyId: sealed.keyId, context }, cause);
  }
}

function keyNamed(keys: KeyRing, keyId: string): KeyObject {
  const key = keys.keys.get(keyId);
  if (key === undefined) throw new BusError('key-missing', { keyId });
  return key;
}

import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import type { Secret } from './secret.ts';

/** Compares two texts in a time that depends on nothing but the length of the expected one. */
export function isEqual(expected: string, given: string): boolean {
  const wanted = Buffer.from(expected, 'utf8');
  const got = Buffer.from(given, 'utf8');
  if (wanted.length !== got.length) return false;
  return timingSafeEqual(wanted, got);
}

/** An HMAC in the given encoding. */
export function hmac(options: {
  readonly algorithm: 'sha1' | 'sha256';
  readonly key: Secret | Buffer;
  readonly content: Uint8Array;
  readonly encoding: 'hex' | 'base64';
}): string {
  const key = Buffer.isBuffer(options.key) ? options.key : options.key.reveal();
  return createHmac(options.algorithm, key).update(options.content).digest(options.encoding);
}

/** Whether the holder of a raw Ed25519 public key (32 bytes) signed the content. Wrong lengths are just not signed. */
export function isEd25519Signed(options: {
  readonly publicKey: Buffer;
  readonly content: Uint8Array;
  readonly signature: Buffer;
}): boolean {
  const { publicKey, content, signature } = options;
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') };
  return verify(null, content, createPublicKey({ key: jwk, format: 'jwk' }), signature);
}

/** The bytes of a base64 text, padded or not; undefined where it has other characters, or none. */
export function base64Bytes(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

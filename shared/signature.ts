import { createHmac, timingSafeEqual } from 'node:crypto';
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

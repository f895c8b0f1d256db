import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from './secret.ts';
import { base64Bytes, hmac, isEd25519Signed, isEqual } from './signature.ts';

describe('equality', () => {
  test('is that of the bytes, whatever the lengths', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(isEqual(a, a)).toBe(true);
        expect(isEqual(a, b)).toBe(Buffer.from(a).equals(Buffer.from(b)));
      }),
    );
  });
});

describe('an HMAC', () => {
  // RFC 4231, test case 2, and RFC 2202, test case 2.
  const content = Buffer.from('what do ya want for nothing?');

  test.each([
    ['sha256', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
    ['sha1', 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'],
  ] as const)('with %s is that of the standard', (algorithm, expected) => {
    expect(hmac({ algorithm, key: new Secret('Jefe'), content, encoding: 'hex' })).toBe(expected);
    expect(hmac({ algorithm, key: Buffer.from('Jefe'), content, encoding: 'base64' })).toBe(
      Buffer.from(expected, 'hex').toString('base64'),
    );
  });

  test('takes the text of a secret as UTF-8', () => {
    const expected = createHmac('sha256', Buffer.from('clé', 'utf8')).update(content).digest('hex');
    expect(hmac({ algorithm: 'sha256', key: new Secret('clé'), content, encoding: 'hex' })).toBe(expected);
  });
});

describe('an Ed25519 signature', () => {
  const pair = generateKeyPairSync('ed25519');
  const publicKey = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const content = Buffer.from('content');
  const signature = sign(null, content, pair.privateKey);

  test('holds for the content and the key that it was made with', () => {
    expect(isEd25519Signed({ publicKey, content, signature })).toBe(true);
    expect(isEd25519Signed({ publicKey, content: Buffer.from('other'), signature })).toBe(false);
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    expect(isEd25519Signed({ publicKey: other, content, signature })).toBe(false);
  });

  test('is refused without a throw when a length is wrong or the key is no point', () => {
    expect(isEd25519Signed({ publicKey: publicKey.subarray(1), content, signature })).toBe(false);
    expect(isEd25519Signed({ publicKey, content, signature: signature.subarray(1) })).toBe(false);
    expect(isEd25519Signed({ publicKey, content, signature: Buffer.alloc(0) })).toBe(false);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        expect(isEd25519Signed({ publicKey: Buffer.from(bytes), content, signature })).toBe(false);
      }),
    );
  });
});

describe('base64', () => {
  test('is read with and without padding', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (given) => {
        const bytes = Buffer.from(given);
        const text = bytes.toString('base64');
        expect(base64Bytes(text)).toEqual(bytes);
        expect(base64Bytes(text.replaceAll('=', ''))).toEqual(bytes);
      }),
    );
  });

  test.each(['', '=', 'AA-_', 'AA AA', 'AAAA\n', 'clé'])('%o is none', (text) => {
    expect(base64Bytes(text)).toBeUndefined();
  });
});

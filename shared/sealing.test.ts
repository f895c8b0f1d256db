import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SealedSecret } from '../schemas/connection.ts';
import { BusError } from './errors.ts';
import { KeyRing, open, seal } from './sealing.ts';
import { Secret } from './secret.ts';

const encoded = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const ring = (text: string) => KeyRing.parse(text);
const [first, second] = [`k1:${encoded(1)}`, `k2:${encoded(2)}`];
const context = 'octo/webhookSecret';

const failure = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof BusError ? { code: error.code, details: error.details } : error;
  }
};

test('any secret opens again under the ring and the context that sealed it', () => {
  const keys = ring(first);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, where) => {
      const sealed = seal(new Secret(text), { keys, context: where });
      return SealedSecret.safeParse(sealed).success && open(sealed, { keys, context: where }).reveal() === text;
    }),
  );
});

test('the same secret is never sealed into the same text twice', () => {
  const sealing = { keys: ring(first), context };
  const [one, two] = [seal(new Secret('s3cret'), sealing), seal(new Secret('s3cret'), sealing)];
  expect([one.nonce === two.nonce, one.ciphertext === two.ciphertext]).toEqual([false, false]);
});

describe('rotation of keys', () => {
  test('the first key seals and every key opens', () => {
    const old = seal(new Secret('s3cret'), { keys: ring(first), context });
    const keys = ring(`${second}, ${first}`);
    const renewed = seal(open(old, { keys, context }), { keys, context });
    expect([old.keyId, renewed.keyId, open(renewed, { keys, context }).reveal()]).toEqual(['k1', 'k2', 's3cret']);
  });

  test('a secret whose key left the ring is key-missing', () => {
    const sealed = seal(new Secret('s3cret'), { keys: ring(first), context });
    expect(failure(() => open(sealed, { keys: ring(second), context }))).toEqual({
      code: 'key-missing',
      details: { keyId: 'k1' },
    });
  });
});

describe('a sealed secret does not open', () => {
  const keys = ring(first);
  const sealed = seal(new Secret('s3cret'), { keys, context });
  const flipped = (text: string) => {
    const bytes = Buffer.from(text, 'base64');
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    return bytes.toString('base64');
  };
  const broken = { code: 'seal-broken', details: { keyId: 'k1', context } };

  test.each([
    ['with another ciphertext', { ...sealed, ciphertext: flipped(sealed.ciphertext) }],
    ['with another nonce', { ...sealed, nonce: flipped(sealed.nonce) }],
    ['with another tag', { ...sealed, tag: flipped(sealed.tag) }],
    ['with a shortened tag', { ...sealed, tag: Buffer.from(sealed.tag, 'base64').subarray(0, 4).toString('base64') }],
    ['without a nonce', { ...sealed, nonce: '' }],
    ['without a tag', { ...sealed, tag: '' }],
  ])('%s', (_, changed) => {
    expect(failure(() => open(changed, { keys, context }))).toEqual(broken);
  });

  test('in another place', () => {
    const elsewhere = 'other/webhookSecret';
    expect(failure(() => open(sealed, { keys, context: elsewhere }))).toEqual({
      code: 'seal-broken',
      details: { keyId: 'k1', context: elsewhere },
    });
  });

  test('under another key of the same id', () => {
    expect(failure(() => open(sealed, { keys: ring(`k1:${encoded(9)}`), context }))).toEqual(broken);
  });
});

describe('a key ring', () => {
  test.each([
    ['is empty', '', ['entry 1 is not <key id>:<base64 of 32 bytes>']],
    ['has a short key', 'k1:c2hvcnQ=', ['entry 1 is not <key id>:<base64 of 32 bytes>']],
    ['has a key without an id', `${first},${encoded(3)}`, ['entry 2 is not <key id>:<base64 of 32 bytes>']],
    ['names an id twice', `${first},k1:${encoded(3)}`, ['entry 2 names a key id for the second time']],
  ])('is refused when it %s, without showing it', (_, text, problems) => {
    const parsed = KeyRing.safeParse(text);
    expect(parsed.error?.issues.map((issue) => issue.message)).toEqual(problems);
  });

  test('does not show its keys', () => {
    const keys = ring(first);
    expect(`${inspect(keys, { depth: 9 })}${JSON.stringify(keys)}`).not.toContain(encoded(1));
  });
});

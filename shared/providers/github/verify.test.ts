import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../secret.ts';
import { hmac } from '../../signature.ts';
import { signaturesIn } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';

const webhookSecret = new Secret('mysecret');
const request = (headers: Readonly<Record<string, string>>, body: Buffer) => ({
  kind: 'events',
  connectionId: 'octo',
  headers,
  query: {},
  body,
});
const signatureOf = (body: Buffer) =>
  `sha256=${hmac({ algorithm: 'sha256', key: webhookSecret, content: body, encoding: 'hex' })}`;
const verify = (headers: Readonly<Record<string, string>>, body: Buffer) =>
  provider.verify(request(headers, body), { webhookSecret }, 0);

describe('the signature', () => {
  test.each(signaturesIn(new URL('./fixtures/', import.meta.url)))('$name is judged rightly', (vector) => {
    const config = { webhookSecret: new Secret(vector.secret) };
    expect(provider.verify(request(vector.headers, Buffer.from(vector.rawBody)), config, 0).ok).toBe(vector.valid);
  });

  test('a missing header and a wrong one are told apart for the log', () => {
    const body = Buffer.from('{}');
    expect(verify({}, body)).toEqual({ ok: false, reason: 'x-hub-signature-256 is missing' });
    expect(verify({ 'x-hub-signature-256': '' }, body)).toEqual({
      ok: false,
      reason: 'x-hub-signature-256 does not match',
    });
  });

  test('any body is accepted as signed, and refused with one bit flipped', () => {
    const flipped = fc.uint8Array({ minLength: 1, maxLength: 300 }).chain((body) =>
      fc.record({
        body: fc.constant(Buffer.from(body)),
        at: fc.nat(body.length - 1),
        bit: fc.nat(7),
      }),
    );
    fc.assert(
      fc.property(flipped, ({ body, at, bit }) => {
        const headers = { 'x-hub-signature-256': signatureOf(body) };
        expect(verify(headers, body)).toEqual({ ok: true });
        const other = Buffer.from(body);
        other.writeUInt8(other.readUInt8(at) ^ (1 << bit), at);
        expect(verify(headers, other).ok).toBe(false);
      }),
    );
  });

  test('any other header is refused and nothing throws', () => {
    const body = Buffer.from('{"a":1}');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        expect(verify({ 'x-hub-signature-256': given }, body).ok).toBe(false);
        expect(verify({ 'x-hub-signature-256': `sha256=${given}` }, body).ok).toBe(false);
      }),
    );
  });
});

describe('the configuration', () => {
  test.each([{}, { webhookSecret: '' }, { webhookSecret: null }, { webhookSecret: 's', token: 't' }])(
    '%o is refused: without a secret there is no connection',
    (config) => {
      expect(provider.config.safeParse(config).success).toBe(false);
    },
  );
});

import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { secretNames } from '../../connection.ts';
import { Secret } from '../../secret.ts';
import { hmac } from '../../signature.ts';
import { signaturesIn } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';

const key = Buffer.from('testtesttesttesttesttesttesttest');
const seconds = 1_775_000_000;
const body = Buffer.from('{"type":"lamp.lit"}');
const signed = (id: string, at: string, bytes = body) => Buffer.concat([Buffer.from(`${id}.${at}.`), bytes]);
const v1 = (id: string, at: string, bytes = body) =>
  `v1,${hmac({ algorithm: 'sha256', key, content: signed(id, at, bytes), encoding: 'base64' })}`;
const headersOf = (signature: string, id = 'msg_1', at = String(seconds)) => ({
  'webhook-id': id,
  'webhook-timestamp': at,
  'webhook-signature': signature,
});

function verify(
  headers: Readonly<Record<string, string>>,
  given: { readonly secret?: string; readonly bytes?: Buffer; readonly now?: number } = {},
) {
  const { secret = `whsec_${key.toString('base64')}`, bytes = body, now = seconds * 1_000 } = given;
  const request = { kind: 'events', connectionId: 'shop', headers, query: {}, body: bytes };
  return provider.verify(request, { webhookSecret: new Secret(secret) }, now);
}

describe('the signature', () => {
  const vectors = signaturesIn(new URL('./fixtures/', import.meta.url));

  test.each(vectors)('$name is judged rightly', ({ headers, secret, rawBody, now, valid }) => {
    expect(verify(headers, { secret, bytes: Buffer.from(rawBody), now: now * 1_000 }).ok).toBe(valid);
  });

  test('a shared key may come without its prefix', () => {
    const signature = v1('msg_1', String(seconds));
    expect(verify(headersOf(signature), { secret: key.toString('base64') })).toEqual({ ok: true });
  });

  test.each(['v2,', 'V1,', 'abc', '', 'v1a,'])('a right signature under the version %o is refused', (version) => {
    const signature = v1('msg_1', String(seconds)).slice('v1,'.length);
    expect(verify(headersOf(`${version}${signature}`))).toEqual({ ok: false, reason: 'no signature matches' });
  });

  test.each([
    [-301_000, false],
    [-300_000, true],
    [300_000, true],
    [300_999, true],
    [301_000, false],
  ])('%i ms after its time it is valid: %s', (ms, valid) => {
    expect(verify(headersOf(v1('msg_1', String(seconds))), { now: seconds * 1_000 + ms }).ok).toBe(valid);
  });

  test.each(['', 'now', '1e9', '-1775000000', '1775000000.0', ' 1775000000', '9'.repeat(400)])(
    'the signed time %o is refused',
    (at) => {
      expect(verify(headersOf(v1('msg_1', at), 'msg_1', at)).ok).toBe(false);
    },
  );

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s it is refused', (name) => {
    const whole: Record<string, string> = headersOf(v1('msg_1', String(seconds)));
    const { [name]: _, ...headers } = whole;
    expect(verify(headers)).toEqual({ ok: false, reason: 'id, timestamp or signature is missing' });
  });

  test('the two sets of header names are not mixed', () => {
    const { 'webhook-id': id, ...others } = headersOf(v1('msg_1', String(seconds)));
    expect(verify({ ...others, 'svix-id': id }).ok).toBe(false);
  });

  test('an Ed25519 key takes no signature of a shared one, nor the other way round', () => {
    const pair = generateKeyPairSync('ed25519');
    const raw = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const secret = `whpk_${raw.toString('base64')}`;
    const at = String(seconds);
    const v1a = `v1a,${sign(null, signed('msg_1', at), pair.privateKey).toString('base64')}`;
    expect(verify(headersOf(`v1,AAAA ${v1a}`), { secret })).toEqual({ ok: true });
    expect(verify(headersOf(v1a)).ok).toBe(false);

    const withPublic = hmac({ algorithm: 'sha256', key: raw, content: signed('msg_1', at), encoding: 'base64' });
    expect(verify(headersOf(`v1,${withPublic} v1a,${withPublic}`), { secret }).ok).toBe(false);
  });

  test('a secret that is no key refuses everything', () => {
    for (const secret of ['whsec_', 'whpk_AAAA', 'not base64!', '====']) {
      const reason = 'the secret of the connection is no key';
      expect(verify(headersOf(v1('msg_1', String(seconds))), { secret })).toEqual({ ok: false, reason });
    }
  });

  test('any body is accepted as signed, and refused with one bit flipped', () => {
    const flips = fc
      .uint8Array({ minLength: 1, maxLength: 300 })
      .chain((bytes) =>
        fc.record({ bytes: fc.constant(Buffer.from(bytes)), at: fc.nat(bytes.length - 1), bit: fc.nat(7) }),
      );
    fc.assert(
      fc.property(flips, ({ bytes, at, bit }) => {
        const headers = headersOf(v1('msg_1', String(seconds), bytes));
        expect(verify(headers, { bytes })).toEqual({ ok: true });
        const other = Buffer.from(bytes);
        other.writeUInt8(other.readUInt8(at) ^ (1 << bit), at);
        expect(verify(headers, { bytes: other }).ok).toBe(false);
      }),
    );
  });

  test('any other signature is refused and nothing throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('', 'v1,', 'v1a,', 'v1, v1a,'), (text, version) => {
        expect(verify(headersOf(`${version}${text}`)).ok).toBe(false);
        expect(verify(headersOf(`${version}${text}`), { secret: `whpk_${key.toString('base64')}` }).ok).toBe(false);
      }),
    );
  });
});

describe('the configuration', () => {
  const webhookSecret = `whsec_${key.toString('base64')}`;

  test.each([
    [{}, 'webhookSecret'],
    [{ webhookSecret: '' }, 'webhookSecret'],
    [{ webhookSecret: 'not base64!' }, 'webhookSecret'],
    [{ webhookSecret: `whpk_${webhookSecret}` }, 'webhookSecret'],
    [{ webhookSecret, mapping: { channel: 'x' } }, 'mapping'],
    [{ webhookSecret, mapping: { channelId: 'order:{data.orderId' } }, 'mapping.channelId'],
    [{ webhookSecret, mapping: { channelId: 'order:{}' } }, 'mapping.channelId'],
    [{ webhookSecret, mapping: { channelId: '{data..id}' } }, 'mapping.channelId'],
    [{ webhookSecret, mapping: { text: `{${'a'.repeat(500)}}` } }, 'mapping.text'],
    [{ webhookSecret, mapping: { providerTime: '{timestamp}' } }, 'mapping.providerTime'],
    [{ webhookSecret, mapping: { channelKind: 'im_dm' } }, 'mapping.channelKind'],
    [{ webhookSecret, mapping: { removedWhen: ['order.deleted'] } }, 'mapping.entryId'],
  ])('%o is refused at %s', (config, place) => {
    const parsed = provider.config.safeParse(config);
    expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toEqual([place]);
  });

  test('what was parsed parses again to the same', () => {
    const mapping = { channelId: 'order:{data.orderId}', entryId: '{data.id}', removedWhen: ['order.deleted'] };
    expect(provider.config.parse({ webhookSecret, mapping }).mapping).toStrictEqual(mapping);
  });

  test('its one secret is known as one', () => {
    expect(secretNames(provider)).toEqual(['webhookSecret']);
  });
});

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Connection } from '../schemas/connection.ts';
import { openConnection, publicConfig, sealConnection, secretNames, type TypedConnection } from './connection.ts';
import { BusError } from './errors.ts';
import { defineProvider } from './provider.ts';
import { KeyRing } from './sealing.ts';
import { Secret, secret } from './secret.ts';

const encoded = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const keys = KeyRing.parse(`k1:${encoded(1)}`);
const rotated = KeyRing.parse(`k2:${encoded(2)},k1:${encoded(1)}`);
const now = 1_929_952_800_000;

const provider = defineProvider({
  name: 'bell',
  title: 'Bell',
  kinds: ['events'],
  keepHeaders: [],
  config: z.strictObject({
    webhookSecret: secret(),
    token: secret().optional(),
    room: z.string().min(1).default('hall'),
    loud: z.boolean().optional(),
  }),
  verify: () => ({ ok: false, reason: 'never' }),
  identify: () => undefined,
  normalize: () => ({ type: 'ignored', reason: 'never' }),
  origin: () => ({}),
});
type Config = z.infer<typeof provider.config>;

const typed = (config: TypedConnection['config']): TypedConnection => ({ id: 'octo', config });
const sealed = (config: TypedConnection['config'], existing?: Connection) =>
  sealConnection(typed(config), { provider, existing, keys, now });
const opened = (connection: Connection, ring = keys) => openConnection(connection, provider, ring).map(revealed);
const revealed = (config: Config) =>
  Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  );
const failure = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof BusError ? { code: error.code, details: error.details } : error;
  }
};

test('the secret settings of a provider are known by name, optional ones too', () => {
  expect(secretNames(provider)).toEqual(['webhookSecret', 'token']);
});

describe('a connection that is typed', () => {
  test('keeps its open settings as typed and seals the others', () => {
    const connection = sealed({ webhookSecret: 'swordfish', loud: true });
    const [one] = connection.secrets.webhookSecret ?? [];
    expect(connection).toEqual({
      id: 'octo',
      provider: 'bell',
      config: { loud: true },
      secrets: { webhookSecret: [{ ...one, keyId: 'k1' }] },
      updatedAt: now,
    });
    expect(JSON.stringify(connection)).not.toContain('swordfish');
    expect(opened(connection)).toEqual([{ webhookSecret: 'swordfish', room: 'hall', loud: true }]);
  });

  test('may hold several values of each secret, and opens as every combination of them', () => {
    const connection = sealed({ webhookSecret: ['new', 'old'], token: ['t2', 't1'] });
    expect(opened(connection)).toEqual([
      { webhookSecret: 'new', token: 't2', room: 'hall' },
      { webhookSecret: 'new', token: 't1', room: 'hall' },
      { webhookSecret: 'old', token: 't2', room: 'hall' },
      { webhookSecret: 'old', token: 't1', room: 'hall' },
    ]);
  });

  test.each([
    ['absent', {}],
    ['blank', { webhookSecret: '  ', token: '' }],
    ['null', { webhookSecret: null, token: null }],
  ])('keeps stored secrets that are %s, and nothing else of the old settings', (_, config) => {
    const before = sealed({ webhookSecret: ['new', 'old'], token: 't1', loud: true });
    expect(opened(sealed({ ...config, room: 'yard' }, before))).toEqual([
      { webhookSecret: 'new', token: 't1', room: 'yard' },
      { webhookSecret: 'old', token: 't1', room: 'yard' },
    ]);
  });

  test('seals kept secrets anew by the first key of the ring', () => {
    const before = sealed({ webhookSecret: 'swordfish' });
    const after = sealConnection(typed({}), { provider, existing: before, keys: rotated, now });
    expect(after.secrets.webhookSecret?.map(({ keyId }) => keyId)).toEqual(['k2']);
    expect(opened(after, rotated)).toEqual(opened(before));
  });

  test('replaces a secret that is named, and loses an optional one whose list is empty', () => {
    const before = sealed({ webhookSecret: 'old', token: 't1' });
    expect(opened(sealed({ webhookSecret: 'new', token: [] }, before))).toEqual([
      { webhookSecret: 'new', room: 'hall' },
    ]);
  });

  test('keeps no secret that another provider stored', () => {
    const before = { ...sealed({ webhookSecret: 'old' }), provider: 'gong' };
    expect(failure(() => sealed({}, before))).toMatchObject({ code: 'input-invalid' });
  });

  const absent = 'webhookSecret: Invalid input: expected string, received undefined';
  test.each([
    ['without a secret that must be there', typed({}), [absent]],
    ['whose required secret is taken away', typed({ webhookSecret: [] }), [absent]],
    [
      'with a secret that is no text',
      typed({ webhookSecret: 7 }),
      ['webhookSecret: a text is expected, or a list of at most five'],
    ],
    [
      'with six values of a secret',
      typed({ webhookSecret: ['1', '2', '3', '4', '5', '6'] }),
      ['webhookSecret: a text is expected, or a list of at most five'],
    ],
    ['with an unknown setting', typed({ webhookSecret: 'a', colour: 'red' }), ['Unrecognized key: "colour"']],
    [
      'with a setting out of bounds',
      typed({ webhookSecret: 'a', room: '' }),
      ['room: Too small: expected string to have >=1 characters'],
    ],
    [
      'with an id that no URL may hold',
      { id: 'Octo/1', config: { webhookSecret: 'a' } },
      ['id: Invalid string: must match pattern /^[a-z0-9][a-z0-9._-]{0,99}$/'],
    ],
  ])('%s is refused', (_, input, issues) => {
    expect(failure(() => sealConnection(input, { provider, keys, now }))).toEqual({
      code: 'input-invalid',
      details: { issues },
    });
  });
});

describe('a stored connection', () => {
  const stored = sealed({ webhookSecret: 'swordfish', token: 't1', room: 'yard' });

  test('opens as nothing while a secret that must be there has no value', () => {
    expect(opened({ ...stored, secrets: {} })).toEqual([]);
  });

  test.each([
    ['another connection', Connection.parse({ ...stored, id: 'other' }), 'other/webhookSecret'],
    [
      'another setting',
      Connection.parse({ ...stored, secrets: { webhookSecret: stored.secrets.token } }),
      'octo/webhookSecret',
    ],
  ])('does not open a secret that was moved to %s', (_, moved, context) => {
    expect(failure(() => opened(moved))).toEqual({ code: 'seal-broken', details: { keyId: 'k1', context } });
  });

  test('whose key is not in the ring does not open', () => {
    expect(failure(() => opened(stored, KeyRing.parse(`k9:${encoded(9)}`)))).toEqual({
      code: 'key-missing',
      details: { keyId: 'k1' },
    });
  });

  test('shows its settings without secrets, and without opening any', () => {
    expect(publicConfig(stored, provider)).toEqual({ room: 'yard' });
    expect(publicConfig({ ...stored, config: {}, secrets: {} }, provider)).toEqual({ room: 'hall' });
  });

  test('reads past a setting that a newer version stored', () => {
    const newer = { ...stored, config: { ...stored.config, colour: 'red' } };
    expect([publicConfig(newer, provider), opened(newer)]).toEqual([
      { room: 'yard' },
      [{ webhookSecret: 'swordfish', token: 't1', room: 'yard' }],
    ]);
  });

  test('whose settings break the schema is a contract-violated', () => {
    const broken = { ...stored, config: { room: 7 } };
    const expected = {
      code: 'contract-violated',
      details: { connectionId: 'octo', issues: ['room: Invalid input: expected string, received number'] },
    };
    expect([failure(() => publicConfig(broken, provider)), failure(() => opened(broken))]).toEqual([
      expected,
      expected,
    ]);
  });
});

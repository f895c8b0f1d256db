import { beforeEach, expect, test } from 'vitest';
import { tokens } from '../../../schemas/token.ts';
import { tableOf } from '../../../shared/testing/table.ts';
import { authenticate } from '../../../shared/token.ts';
import { createTestWorld, type TestWorld } from '../test-world.ts';

let world: TestWorld;
beforeEach(async () => {
  world = createTestWorld({ SIGNALBOX_PARTITIONS: '2' });
  await world.run('migrate');
});

const create = ['tokens', 'create', 'console', '--scope', 'bindings:read', '--scope', 'bindings:write'] as const;

test('a token is shown once, and later neither it nor its digest', async () => {
  const made = await world.run(...create, '--agent', ' Iris ', '--expires', '1d');
  const [text = ''] = /sbx_[0-9a-f]{12}_[\w-]{43}/.exec(made.out) ?? [];
  expect(text).not.toBe('');
  const { out } = await world.run('tokens', 'list');
  const id = text.slice(4, 16);
  expect(out.split('\n').at(1)).toMatch(
    new RegExp(`^${id} +console +valid +iris +bindings:read, bindings:write +just now$`),
  );
  const listed = await world.json('tokens', 'list');
  expect(listed).toEqual([
    {
      id,
      name: 'console',
      scopes: ['bindings:read', 'bindings:write'],
      agents: ['iris'],
      createdAt: expect.any(Number),
      expiresAt: expect.any(Number),
      revokedAt: null,
    },
  ]);
  expect(out + made.notes).not.toContain(text.slice(-43));
});

test('a revoked token says so from then on, and stays revoked', async () => {
  const { id } = (await world.json(...create, '--expires', 'never')) as { readonly id: string };
  const first = await world.json('tokens', 'revoke', id);
  expect(first).toMatchObject({ id, agents: null, expiresAt: null, revokedAt: expect.any(Number) });
  expect(await world.json('tokens', 'revoke', id)).toEqual(first);
  expect((await world.run('tokens', 'list')).out).toContain('revoked');
  expect((await world.run('tokens', 'revoke', '000000000000')).notes).toContain('token-not-found');
});

test('what all agents share is not for a token of some', async () => {
  const { code, notes } = await world.run('tokens', 'create', 'x', '--scope', 'mirror:read', '--agent', 'iris');
  expect([code, notes.includes('mirror:read is for tokens of all agents')]).toEqual([2, true]);
  expect((await world.run('tokens', 'create', 'x', '--scope', 'bindings:read', '--expires', 'soon')).code).toBe(2);
  expect((await world.run('tokens', 'create', 'x', '--scope', 'everything')).code).toBe(2);
  expect((await world.run('tokens', 'create', 'x')).code).toBe(2);
  expect(await world.json('tokens', 'list')).toEqual([]);
});

test('nobody signs in with a digest, a part of a token or the text of another', async () => {
  const made = (await world.json(...create)) as { readonly token: string };
  const other = (await world.json(...create)) as { readonly token: string };
  const stored = tableOf(tokens, []);
  expect(authenticate(`Bearer ${made.token}`, { tokens: stored, now: 0 })).toEqual({
    ok: false,
    code: 'token-invalid',
  });
  const mixed = `${made.token.slice(0, 17)}${other.token.slice(17)}`;
  const known = tableOf(tokens, [{ ...tokens.example, digest: 'a'.repeat(64) }]);
  for (const text of [mixed, 'a'.repeat(64), `sbx_${tokens.example.id}_${'a'.repeat(43)}`]) {
    expect(authenticate(`Bearer ${text}`, { tokens: known, now: 0 })).toEqual({ ok: false, code: 'token-invalid' });
  }
});

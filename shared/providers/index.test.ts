import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { secretNames } from '../connection.ts';
import { ownIds } from '../provider.ts';
import { Secret } from '../secret.ts';
import { providers } from './index.ts';

const here = new URL('.', import.meta.url);
const folders = readdirSync(here, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

test('every folder is a provider of its name', () => {
  expect([...providers.keys()]).toEqual(folders.sort());
});

describe.each([...providers.values()])('$name', (provider) => {
  test('has a README of at most 40 lines', () => {
    expect(
      readFileSync(new URL(`${provider.name}/README.md`, here), 'utf8')
        .trimEnd()
        .split('\n').length,
    ).toBeLessThan(41);
  });

  test('has recorded deliveries with the facts that they become', () => {
    const folder = new URL(`${provider.name}/fixtures/`, here);
    const golden = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.facts.json')) : [];
    expect(golden, 'record one: README.md, step 6').not.toEqual([]);
    for (const name of golden) {
      expect(existsSync(new URL(name.replace('.facts', ''), folder))).toBe(true);
    }
  });

  test('has a closed object of settings', () => {
    expect(provider.config).toBeInstanceOf(z.ZodObject);
    const unknown = provider.config.safeParse({ noSuchSetting: 1 });
    expect(unknown.error?.issues.map(({ code }) => code)).toContain('unrecognized_keys');
  });

  test('can be told which accounts there are our own', () => {
    const { shape } = provider.config as z.ZodObject;
    expect(shape.ownAccountIds, 'spread `ownIds` into its settings').toBe(ownIds.ownAccountIds);
  });

  test('has no secret that would be stored like any other setting', () => {
    expect(provider.config).toBeInstanceOf(z.ZodObject);
    const members = Object.entries((provider.config as z.ZodObject).shape) as readonly [string, z.ZodType][];
    const hidden = members.filter(([, schema]) => schema.safeParse('dGVzdHRlc3R0ZXN0').data instanceof Secret);
    expect(hidden.map(([name]) => name)).toEqual(secretNames(provider));
  });

  test('keeps no header that is a proof or a credential', () => {
    const proofs = provider.keepHeaders.filter((name) => /signature|authorization|token|secret|cookie/.test(name));
    expect(proofs).toEqual([]);
    expect(provider.keepHeaders.filter((name) => name !== name.toLowerCase())).toEqual([]);
  });

  test('refuses an unsigned request', () => {
    const request = { kind: provider.kinds[0], connectionId: 'c', headers: {}, query: {}, body: Buffer.from('{}') };
    const config = Object.fromEntries(secretNames(provider).map((name) => [name, new Secret('AAAA')]));
    expect(provider.verify(request, config, 0).ok).toBe(false);
  });
});

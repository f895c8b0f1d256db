import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isSecretSchema, Secret, secret } from './secret.ts';

test('a secret shows its value to nobody who does not ask for it by name', () => {
  const hidden = new Secret('correct horse');
  const seen = [`${hidden}`, JSON.stringify({ hidden }), inspect({ hidden }, { depth: 9, showHidden: true })];
  expect(seen.filter((text) => text.includes('horse'))).toEqual([]);
  expect(hidden.reveal()).toBe('correct horse');
});

test('a secret setting is known as one, also after it was described', () => {
  const settings = z.strictObject({ key: secret().describe('Signs.').meta({ title: 'Key' }), name: z.string() });
  expect(isSecretSchema(secret())).toBe(true);
  expect(isSecretSchema(settings.shape.key)).toBe(true);
  expect(isSecretSchema(settings.shape.name)).toBe(false);
  expect(settings.parse({ key: 'correct horse', name: 'n' }).key.reveal()).toBe('correct horse');
});

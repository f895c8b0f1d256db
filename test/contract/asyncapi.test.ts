import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';
import { expect, test } from 'vitest';
import { topics } from '../../schemas/index.ts';
import { root } from './sources.ts';

const text = readFileSync(new URL('docs/asyncapi.json', root), 'utf8');
const errorSeverity = 0;

test('the AsyncAPI document is valid and has every topic', async () => {
  const { document, diagnostics } = await new Parser().parse(text);
  expect(diagnostics.filter(({ severity }) => severity === errorSeverity)).toEqual([]);
  const channels = document?.channels().all() ?? [];
  expect(channels.map((channel) => channel.address()).sort()).toEqual(topics.map(({ name }) => name).sort());
}, 30_000);

import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTopic } from '../schemas/define.ts';
import { jsonSchemaOf, jsonSchemaText, subjectOf } from './json-schema.ts';

const topicOf = (value: z.ZodType) =>
  defineTopic<unknown>({
    name: 'rings',
    summary: 'Rings of a bell.',
    value,
    key: () => 'k',
    keep: 'forever',
    example: {},
  });
const ring = z.object({ at: z.int().nonnegative(), by: z.string().max(9).optional(), how: z.enum(['soft', 'loud']) });

test('the subject of a topic is that of its values', () => {
  expect(subjectOf({ name: 'rings' })).toBe('rings-value');
});

test('a topic becomes a closed draft-7 schema that says what the topic is', () => {
  expect(jsonSchemaOf(topicOf(ring))).toEqual({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'rings',
    description: 'Rings of a bell.',
    type: 'object',
    properties: {
      at: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      by: { type: 'string', maxLength: 9 },
      how: { type: 'string', enum: ['soft', 'loud'] },
    },
    required: ['at', 'how'],
    additionalProperties: false,
  });
});

test('the text that is registered is the same for equal schemas, whoever declared them', () => {
  const topic = topicOf(ring);
  expect(jsonSchemaText(topic)).toBe(jsonSchemaText(topic));
  expect(jsonSchemaText(topicOf(z.object({ ...ring.shape })))).toBe(jsonSchemaText(topic));
  expect(jsonSchemaText(topicOf(ring.omit({ by: true })))).not.toBe(jsonSchemaText(topic));
});

test('what JSON cannot hold is an error while it is declared, not a schema that takes anything', () => {
  for (const value of [z.object({ at: z.date() }), z.object({ n: z.bigint() }), z.string().transform(Number)]) {
    expect(() => jsonSchemaOf(topicOf(value))).toThrow(/cannot be represented/);
  }
});

import { expect, test } from 'vitest';
import { isBackwardCompatible } from './backward.ts';

const object = (properties: object, required: readonly string[] = [], rest: unknown = false) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: rest,
});
const [text, whole, number] = [{ type: 'string' }, { type: 'integer' }, { type: 'number' }];

test.each([
  ['an equal schema', object({ a: text }), object({ a: text })],
  ['another description', { ...text, description: 'old' }, { ...text, description: 'new' }],
  ['a new optional property of a closed object', object({ a: text }), object({ a: text, b: text })],
  ['a property that is no longer required', object({ a: text }, ['a']), object({ a: text })],
  ['a wider type', object({ a: whole }), object({ a: number })],
  ['a nullable property', object({ a: text }), object({ a: { anyOf: [text, { type: 'null' }] } })],
  ['wider bounds', { ...text, minLength: 1, maxLength: 10 }, { ...text, maxLength: 20 }],
  ['one more value', { ...text, enum: ['a', 'b'] }, { ...text, enum: ['a', 'b', 'c'] }],
  ['one more member', { anyOf: [text] }, { anyOf: [whole, text] }],
  ['a wider item', { type: 'array', items: whole }, { type: 'array', items: number }],
  ['a removed property of an open object', object({ a: text }, [], true), object({}, [], true)],
  [
    'a new property of a definition that is new, too',
    object({ a: text }),
    { ...object({ a: text, b: { $ref: '#/definitions/x' } }), definitions: { x: text } },
  ],
  ['an object that opens', object({ a: text }), object({ a: text }, [], {})],
])('%s is compatible', (_, older, newer) => {
  expect(isBackwardCompatible(older, newer)).toBe(true);
});

test.each([
  ['a removed property of a closed object', object({ a: text, b: text }), object({ a: text })],
  ['a new required property', object({ a: text }), object({ a: text, b: text }, ['b'])],
  ['a property of an open object', object({}, [], true), object({ a: text }, [], true)],
  ['an object that closes', object({ a: text }, [], true), object({ a: text })],
  ['a narrower type', number, whole],
  ['a type where there was none', {}, text],
  ['a property that is no longer nullable', object({ a: { anyOf: [text, { type: 'null' }] } }), object({ a: text })],
  ['a narrower bound', { ...text, maxLength: 20 }, { ...text, maxLength: 10 }],
  ['a new bound', number, { ...number, minimum: 0 }],
  ['another definition', { ...text, definitions: { x: number } }, { ...text, definitions: { x: whole } }],
  ['a value less', { ...text, enum: ['a', 'b'] }, { ...text, enum: ['a'] }],
  ['a member less', { anyOf: [text, whole] }, { anyOf: [text] }],
  ['a changed pattern', { ...text, pattern: '^a' }, { ...text, pattern: '^b' }],
  ['a narrower item', { type: 'array', items: number }, { type: 'array', items: whole }],
  ['a change deep inside', object({ a: object({ b: whole }) }), object({ a: object({ b: text }) })],
])('%s is not compatible', (_, older, newer) => {
  expect(isBackwardCompatible(older, newer)).toBe(false);
});

import { expect, test } from 'vitest';
import { z } from 'zod';
import { issuesOf, ownershipOf, parseJson, readBody, stated } from './provider.ts';

test('a body is read as JSON unless the provider says otherwise', () => {
  expect(readBody({}, '{"a":[1]}')).toEqual({ a: [1] });
  expect(readBody({}, 'a=1')).toBeUndefined();
  expect(readBody({ decode: (text) => ({ text }) }, 'a=1')).toEqual({ text: 'a=1' });
});

test('text that is no JSON has no value, and null is one', () => {
  expect(['', '{', 'undefined', 'null'].map(parseJson)).toEqual([undefined, undefined, undefined, null]);
});

test('issues name places and codes, never values', () => {
  const schema = z.object({ user: z.object({ id: z.int() }), list: z.array(z.string()) });
  const error = schema.safeParse({ user: { id: 'secret' }, list: ['a', 5] }).error;
  expect(error && issuesOf(error)).toEqual(['user.id: invalid_type', 'list.1: invalid_type']);
  const whole = schema.safeParse('secret').error;
  expect(whole && issuesOf(whole)).toEqual(['body: invalid_type']);
});

test('only stated members are kept: false, zero and blank are statements', () => {
  expect(stated({ a: null, b: undefined, c: 0, d: false, e: '' })).toStrictEqual({ c: 0, d: false, e: '' });
});

const own = { ownAccountIds: ['bot'], ownAppIds: ['app'] };

test.each([
  ['own', { by: 'bot', writtenBy: 'bot' }],
  ['own', { by: 'bot' }],
  ['own', { writtenBy: 'bot' }],
  ['own', { by: 'mei', writtenBy: 'mei', app: 'app' }],
  ['own', { app: 'app' }],
  ['changed', { by: 'bot', writtenBy: 'mei' }],
  ['other', { by: 'mei', writtenBy: 'bot' }],
  ['other', { by: 'mei', writtenBy: 'jonas', app: 'app' }],
  ['other', { by: 'mei', writtenBy: 'mei', app: 'other app' }],
  ['other', {}],
] as const)('an event is %s by its origin: %o', (ownership, origin) => {
  expect(ownershipOf(origin, own)).toBe(ownership);
  expect(ownershipOf(origin, {})).toBe('other');
});

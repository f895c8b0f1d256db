import { expect, test } from 'vitest';
import { z } from 'zod';
import { issuesOf, parseJson, readBody, stated } from './provider.ts';

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

import type { JsonObject } from '../../../schemas/normalized-fact.ts';

/** A JSON object, whatever its members. */
export type Members = ReturnType<typeof JsonObject.parse>;

/** Whether a value is an object of JSON. */
export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text without the blanks around it. A blank one is none, and neither is a number: ids are never guessed from it. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

/** An object; anything else says nothing. */
export const objectOf = (value: unknown): Members | undefined => (isObject(value) ? value : undefined);

/** A list; what is no list is the one thing on it. */
export const listOf = (value: unknown): readonly unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];

/** A list with anything on it. */
export function someOf(value: unknown): readonly unknown[] | undefined {
  const list = listOf(value);
  return list.length === 0 ? undefined : list;
}

/** What means yes; everything else does not. */
export const flagOf = (value: unknown): true | undefined =>
  value === true || value === 'true' || value === 1 || value === '1' ? true : undefined;

/** One of a few words; any other says nothing. */
export const wordOf = <W extends string>(value: unknown, words: readonly W[]): W | undefined =>
  words.find((word) => word === value);

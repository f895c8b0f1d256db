import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { topics } from '../schemas/index.ts';
import { safeParse } from './safe-parse.ts';

const leaf = fc.oneof(
  fc.constantFrom(null, true, '', ' x ', '\u{1f600}'.repeat(150), '2031-02-28T06:00:00.000Z', 'e30=', -1, 1.5, 2 ** 60),
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.jsonValue(),
);

/** Values like a given one: some of its members are gone, some are others, some are new. */
function like(value: unknown): fc.Arbitrary<unknown> {
  const same =
    typeof value !== 'object' || value === null
      ? fc.constant(value)
      : Array.isArray(value)
        ? fc.tuple(...value.map(like))
        : fc
            .tuple(
              fc.record(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, like(member)])), {
                requiredKeys: Object.keys(value).slice(1),
              }),
              fc.oneof({ arbitrary: fc.constant({}), weight: 8 }, fc.dictionary(fc.string(), leaf, { maxKeys: 2 })),
            )
            .map(([members, more]) => ({ ...members, ...more }));
  return fc.oneof({ arbitrary: same, weight: 12 }, { arbitrary: leaf, weight: 1 });
}

test.each(topics.map((topic) => [topic.name, topic] as const))('%s: it says what the schema says', (_, topic) => {
  let fitting = 0;
  fc.assert(
    fc.property(like(topic.example), (value) => {
      const [quick, thorough] = [safeParse(topic.value, value), topic.value.safeParse(value)];
      if (thorough.success) fitting++;
      expect(quick).toEqual(thorough);
    }),
    { numRuns: 400 },
  );
  expect(fitting).toBeGreaterThan(10);
});

/** Whatever a schema is made of, by the names that zod gives it. */
function partsOf(schema: unknown): ReadonlySet<string> {
  const seen = new Set<unknown>();
  const parts = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    const internals: unknown = Reflect.get(value, '_zod');
    if (typeof internals === 'object' && internals !== null) {
      const def = Reflect.get(internals, 'def') as { readonly type?: string; readonly check?: string };
      parts.add(def.check ?? def.type ?? '');
      visit(def.type === 'lazy' ? Reflect.get(internals, 'innerType') : def);
      return;
    }
    for (const member of Object.values(value)) visit(member);
  };
  visit(schema);
  return parts;
}

test('no topic asks for more than JSON Schema can say', () => {
  const parts = new Set(topics.flatMap((topic) => [...partsOf(topic.value)]));
  const sayable = new Set([
    ...['object', 'string', 'number', 'boolean', 'null', 'array', 'record', 'union', 'literal', 'enum', 'optional'],
    ...['nullable', 'lazy', 'never', 'unknown', 'string_format', 'number_format', 'min_length', 'max_length'],
    ...['greater_than', 'less_than'],
  ]);
  expect([...parts].filter((part) => !sayable.has(part))).toEqual([]);
  expect([...partsOf(z.object({ a: z.string().trim() }))]).toContain('overwrite');
  expect([...partsOf(z.array(z.string().refine(Boolean)))]).toContain('custom');
});

test('a value that fits is answered itself, without asking the schema', () => {
  const schema = z.object({ name: z.string().max(3) });
  const parse = vi.spyOn(schema, 'safeParse');
  const value = { name: 'abc' };
  expect(safeParse(schema, value).data).toBe(value);
  expect(parse).not.toHaveBeenCalled();
  expect(safeParse(schema, { name: 'abc', more: 1 }).data).toEqual(value);
  expect(safeParse(schema, { name: 'abcd' }).success).toBe(false);
  expect(parse).toHaveBeenCalledTimes(2);
});

test('lengths are counted as the schema counts them', () => {
  const schema = z.string().max(2);
  const texts = ['ab', '\u{1f600}b', '\u{1f600}bc'];
  expect(texts.map((text) => safeParse(schema, text).success)).toEqual([true, true, false]);
  expect(texts.map((text) => schema.safeParse(text).success)).toEqual([true, true, false]);
});

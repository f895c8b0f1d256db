import { expect, test } from 'vitest';
import { declaredSettings, fieldText } from '../../docs/generators/reference-settings.ts';
import { variableOf } from '../../shared/config.ts';

const declarations = await declaredSettings();
const settings = declarations.flatMap(({ prefix, fields }) =>
  Object.entries(fields).map(([field, schema]) => ({
    name: variableOf(prefix, field),
    field,
    text: fieldText(schema),
  })),
);

test('every setting says in a sentence what it does', () => {
  expect(settings.filter(({ text }) => !/^[A-Z/].*\.$/s.test(text.description)).map(({ name }) => name)).toEqual([]);
});

test('every number has a least and a most', () => {
  const numbers = settings.filter(({ text }) => ['integer', 'number'].includes(text.type));
  expect(numbers.filter(({ text }) => !/^-?\d+ to \d+$/.test(text.bounds)).map(({ name }) => name)).toEqual([]);
});

test('a default lies within its own bounds', () => {
  for (const { fields } of declarations) {
    for (const schema of Object.values(fields)) {
      const read = schema.safeParse(undefined);
      if (read.success && read.data !== undefined) expect(schema.safeParse(read.data)).toMatchObject({ success: true });
    }
  }
});

test('one variable belongs to one declaration', () => {
  const names = settings.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

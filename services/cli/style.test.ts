import { expect, test } from 'vitest';
import { coloured, list, plain, table, widthOf } from './style.ts';

test('columns line up, numbers to the right, whatever is coloured', () => {
  const rows = [
    [coloured.red('one'), '1'],
    ['three', '1000'],
  ];
  const lines = table(['name', 'records'], rows, coloured, ['records']).split('\n');
  expect(lines.map(widthOf)).toEqual([14, 14, 14]);
  expect(table(['name', 'records'], [['three', '1000']], plain, ['records'])).toBe('name   records\nthree     1000');
});

test('pairs line up', () => {
  expect(
    list(
      [
        ['a', '1'],
        ['long', ''],
      ],
      plain,
    ),
  ).toBe('a     1\nlong');
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rowKey } from './row-key.ts';

test('plain parts can be read in the key', () => {
  expect(rowKey('iris', 'desk', 'github:octo/repo#7')).toBe('iris|desk|github:octo/repo#7');
});

test('different parts never give the same key', () => {
  const part = fc.string({ unit: fc.constantFrom('a', '|', '%', '7', 'C', '2', '5'), maxLength: 6 });
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      expect(rowKey(a, b) === rowKey(c, d)).toBe(a === c && b === d);
    }),
  );
});

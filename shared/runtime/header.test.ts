import fc from 'fast-check';
import { expect, test } from 'vitest';
import { effectId, formatHeader, parseHeader, type RecordHeader } from './header.ts';

const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((value) => value.isWellFormed());

const header: fc.Arbitrary<RecordHeader> = fc.record(
  {
    rootId: text,
    causeId: text,
    from: fc.record({
      topic: fc.constantFrom('raw-provider-facts', 'normalized-facts'),
      partition: fc.nat(999),
      offset: fc.bigInt({ min: 0n, max: 2n ** 62n }),
      effect: text,
    }),
    timer: fc.record({ key: text, id: text }),
    call: fc.record({ id: text }),
    redrive: text,
    part: text,
  },
  { requiredKeys: ['rootId', 'causeId'] },
);

test('a header is read as it was written, whatever its ids hold', () => {
  fc.assert(
    fc.property(header, (written) => {
      expect(parseHeader(formatHeader(written))).toEqual(written);
    }),
  );
});

test('a text that is no header counts as none, so that nobody outside can break a reader', () => {
  const texts = [undefined, '', '2 a b', '1 a', '1 %E0%A4%A 3', 'x'.repeat(10_000)];
  expect(texts.map(parseHeader)).toEqual(texts.map(() => undefined));
});

test('an id of a long chain is folded, stays the same for the same chain and differs for another', () => {
  const long = 'm'.repeat(250);
  expect(effectId('a', '0')).toBe('a.0');
  expect(effectId(long, '0')).toHaveLength(44);
  expect(effectId(long, '0')).toBe(effectId(long, '0'));
  expect(effectId(long, '0')).not.toBe(effectId(long, '1'));
});

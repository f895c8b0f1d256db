import { randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTraceparent, isSampled, parseTraceparent, spanIdOf, traceIdOf } from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

test('a traceparent is read as the standard writes it, also in a later version', () => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, sampled: true });
  expect(parseTraceparent(`00-${traceId}-${spanId}-02`)).toEqual({ traceId, spanId, sampled: false });
  expect(parseTraceparent(`cc-${traceId}-${spanId}-03-what-the-future-brings`)).toEqual({
    traceId,
    spanId,
    sampled: true,
  });
});

test.each([
  undefined,
  '',
  'nonsense',
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId}-${spanId}-01 `,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `cc-${traceId}-${spanId}-01-${'x'.repeat(201)}`,
  `cc-${traceId}-${spanId}-01-a b`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
])('a text that is no traceparent counts as none: %j', (text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test('what was written is read again', () => {
  const digits = (length: number) =>
    fc
      .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
      .map((each) => each.join(''))
      .filter((text) => !/^0+$/.test(text));
  fc.assert(
    fc.property(digits(32), digits(16), fc.boolean(), (trace, span, sampled) => {
      const context = { traceId: trace, spanId: span, sampled };
      expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
    }),
  );
});

test('the trace of a fact has the digits of its id, and a digest of an id that is no UUID', () => {
  expect(traceIdOf('01a23183-877d-786f-af2e-1e6b967c88b0')).toBe('01a23183877d786faf2e1e6b967c88b0');
  for (const id of ['raw-provider-facts/3/120', '', '00000000-0000-0000-0000-000000000000', 'ż'.repeat(300)]) {
    expect(traceIdOf(id)).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf(id)).not.toMatch(/^0+$/);
    expect(traceIdOf(id)).toBe(traceIdOf(id));
  }
  expect(traceIdOf('a')).not.toBe(traceIdOf('b'));
});

test('the id of a piece of work depends on its trace and its name, and on nothing else', () => {
  expect(spanIdOf(traceId, 'filter 3 120')).toBe('69fa98d8b79e6c47');
  const ids = [spanIdOf(traceId, 'a'), spanIdOf(traceId, 'b'), spanIdOf(traceIdOf('x'), 'a')];
  expect(new Set(ids).size).toBe(3);
});

test('a share of the facts of the edge is recorded, by their ids alone', () => {
  const ids = Array.from({ length: 4_000 }, () => traceIdOf(randomUUIDv7()));
  expect(ids.filter((id) => isSampled(id, 1))).toHaveLength(ids.length);
  expect(ids.filter((id) => isSampled(id, 0))).toEqual([]);
  const quarter = ids.filter((id) => isSampled(id, 0.25));
  // Six standard deviations to each side.
  expect(Math.abs(quarter.length - 1_000)).toBeLessThan(165);
  expect(quarter.every((id) => isSampled(id, 0.5))).toBe(true);
});

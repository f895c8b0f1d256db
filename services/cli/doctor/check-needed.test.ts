import { expect, test } from 'vitest';
import { checkNeeded, type NeedReading } from './check-needed.ts';

const dayMs = 86_400_000;
const now = 100 * dayMs;
const reading = (partition: number, more: Partial<NeedReading>): NeedReading => ({
  stage: 'filter',
  topic: 'normalized-facts',
  partition,
  fence: 9n,
  committed: 10n,
  start: 0n,
  at: undefined,
  retentionMs: 7 * dayMs,
  ...more,
});

test('a stage that has all it needs is well: caught up, new, never started, behind for a while, or of a topic kept for ever', () => {
  const all = [
    reading(0, { start: 10n }),
    reading(1, { fence: -1n, committed: -1n, start: 50n, at: now - dayMs }),
    reading(2, { fence: -1n, committed: 50n, start: 50n }),
    reading(3, { at: now - 5 * dayMs }),
    reading(4, { at: 0, retentionMs: undefined }),
    // The group is told of what was handled later than the store.
    reading(5, { fence: 19n, committed: 10n, start: 20n }),
    reading(6, { fence: -1n, committed: 10n, start: 0n }),
  ];
  expect(checkNeeded(all, now)).toEqual({
    name: 'needed records',
    status: 'ok',
    summary: 'all kept, and for a while',
    details: [],
  });
});

test('what a stage will stop for is told before it does: by its state, or by its group where the state is lost', () => {
  const gaps = [reading(0, { start: 11n }), reading(1, { fence: -1n, committed: 10n, start: 12n })];
  expect(checkNeeded(gaps, now)).toEqual({
    name: 'needed records',
    status: 'failed',
    summary: 'some have left their topic',
    details: [
      'filter, partition 0: needs normalized-facts from offset 10 on, which is kept from 11 on: it stops with offset-gap',
      'filter, partition 1: needs normalized-facts from offset 10 on, which is kept from 12 on: it stops with offset-gap',
    ],
    fix: expect.stringContaining('`signalbox rebuild <stage>`'),
  });
});

test('records that soon leave their topic unread, and states that cannot be folded whole any more, are worth a look', () => {
  const near = [
    reading(0, { at: now - 6 * dayMs }),
    reading(1, { fence: -1n, committed: 10n, start: 5n, at: now - dayMs }),
  ];
  expect(checkNeeded(near, now)).toMatchObject({
    status: 'warning',
    details: [
      'filter, partition 0: its first record in normalized-facts is 6.0 days old, and leaves it after 7.0',
      'filter, partition 1: Redis has no state of it, and normalized-facts begins at offset 5: older records are in no state',
    ],
    fix: expect.stringMatching(/operating\.md#records-leave(?:.|\n)*docs\/delivery\.md/),
  });
});

import { expect, test } from 'vitest';
import { createChapters } from './chapters.ts';

test('a load comes in chapters with channels of their own, each of which ends where the one after the next begins', async () => {
  let end = 0n;
  const { take, all } = createChapters({
    ...{ mark: 'm', connectionId: 'c', channels: 3, seed: 1, factsEach: 5 },
    ends: async () => new Map([['raw-provider-facts/0', end]]),
  });
  const taken: string[] = [];
  for (const most of [3, 3, 4, 4, 3]) {
    const facts = await take(most);
    end += BigInt(facts.length);
    taken.push(facts.map(({ key }) => /m-c\d+/.exec(key)?.[0]).join(' '));
  }
  const [first, second, third] = ['m-c00000', 'm-c00001', 'm-c00002'];
  const times = (mark: string, count: number): string => Array.from({ length: count }, () => mark).join(' ');
  expect(taken).toEqual([times(first, 3), times(first, 2), times(second, 4), times(second, 1), times(third, 3)]);
  const at = (offset: bigint) => new Map([['raw-provider-facts/0', offset]]);
  expect(all()).toEqual([
    { mark: first, facts: 5, from: at(0n), to: at(10n) },
    { mark: second, facts: 5, from: at(5n), to: undefined },
    { mark: third, facts: 3, from: at(10n), to: undefined },
  ]);
});

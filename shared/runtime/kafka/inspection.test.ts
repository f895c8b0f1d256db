import { expect, test } from 'vitest';
import { knownRequests } from './client.ts';
import { madeRequests } from './inspection.ts';

test('the client still has its requests and their versions where they are looked up', () => {
  const known = knownRequests(madeRequests);
  expect(known.map(({ name }) => name)).toEqual(madeRequests);
  expect(known.filter(({ min, max }) => !(min >= 0 && max >= min))).toEqual([]);
  // What the protocol itself says: a table that moved on would give other numbers to these.
  expect(known.filter(({ name }) => ['Produce', 'Fetch', 'ApiVersions'].includes(name)).map(({ key }) => key)).toEqual([
    18, 0, 1,
  ]);
});

test('a request that the client no longer makes is told, and not passed over', () => {
  expect(() => knownRequests(['Produce', 'Teleport'])).toThrow('the client no longer makes Teleport');
});

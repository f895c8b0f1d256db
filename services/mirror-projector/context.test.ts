import { expect, test } from 'vitest';
import { RecentEntries } from '../../schemas/conversation.ts';
import { EntryReceived, exampleFact } from '../../schemas/normalized-fact.ts';
import { rememberEntry } from './context.ts';

const fact = EntryReceived.parse({ ...exampleFact, providerThreadId: 'th-a' });

test('a message that another route told already leaves the list as it was, also after the store gave it back', () => {
  const once = rememberEntry([], fact, 1);
  expect(rememberEntry(once, fact, 2)).toBe(once);
  const stored = RecentEntries.parse(JSON.parse(JSON.stringify({ entries: once }))).entries;
  expect(rememberEntry(stored, fact, 2)).toBe(stored);
});

test('another telling of it takes its place, and its first moment stays', () => {
  const once = rememberEntry([], fact, 1);
  const twice = rememberEntry(once, { ...fact, text: 'Done.' }, 2);
  expect(twice).toStrictEqual([{ ...once[0], text: 'Done.', receivedAt: 1 }]);
});

import { expect, test } from 'vitest';
import { FactAccepted, acceptedFacts as topic } from '../../schemas/accepted-fact.ts';
import { acceptedFacts, freeNumbers, spread, steadyNumbers, timeOf, written } from './facts.ts';

test('a load holds accepted facts under the key of their topic: entries, edits, removals and events told again', () => {
  const records = [...acceptedFacts('m', 200)];
  const facts = records.map(({ fact }) => FactAccepted.parse(fact));
  expect(facts.map((fact) => topic.key(fact))).toEqual(records.map(({ key }) => key));
  const events = facts.map(({ fact }) => fact.sourceEventId);
  // Of ten cycles the first two have nothing to speak of again.
  expect(new Set(events).size).toBe(200 - 8);
  expect(facts.filter(({ fact }) => fact.type === 'entry_lifecycle')).toHaveLength(8);
  expect(events.filter((event) => event.endsWith('-1'))).toHaveLength(8);
});

test('the entries that readers watch are written once by the load', () => {
  const records = [...acceptedFacts('m', 400)].map(({ fact }) => FactAccepted.parse(fact).fact.sourceEntryId);
  for (const number of [steadyNumbers, freeNumbers]) {
    const numbers = spread(number, { count: 400, wanted: 7 });
    expect(numbers).toHaveLength(7);
    for (const each of numbers) {
      expect(records.filter((entry) => entry === `issue_comment:${1_000 + each}`)).toHaveLength(1);
    }
  }
  expect(spread(1, { count: 40, wanted: 9 })).toEqual([1, 21]);
});

test('a later revision has a later time', () => {
  const { fact } = FactAccepted.parse(written('m', 9, 3).fact);
  expect(fact.providerTime).toBe(timeOf(9, 3));
  expect(timeOf(9, 3)).toBeGreaterThan(timeOf(9, 2));
});

import { expect, test } from 'vitest';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { exampleFact } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, outcome, reject } from '../../shared/stage/index.ts';
import { metrics } from './metrics.ts';

const message = { id: 'm', rootId: 'r', at: 1, key: 'k', value: exampleFact };

test('a fact counts once, under the best that became of it', () => {
  const counted = (...effects: readonly Effect[]) => metrics.filter_facts_total?.labels({ message, effects });
  const broken = reject('invalid_binding_filter', {}, { part: 'iris|desk' });
  const labels = (end: string) => ({ kind: 'entry_received', outcome: end });

  expect(counted(outcome('binding_not_found'))).toStrictEqual(labels('binding_not_found'));
  expect(counted(outcome('binding_disabled'), outcome('binding_unavailable'))).toStrictEqual(
    labels('binding_unavailable'),
  );
  expect(counted(outcome('binding_disabled'), outcome('filtered'))).toStrictEqual(labels('filtered'));
  expect(counted(outcome('binding_disabled'), reject('binding_unavailable', {}, { part: 'iris|desk' }))).toStrictEqual(
    labels('binding_unavailable'),
  );
  expect(counted(outcome('filtered'), broken)).toStrictEqual(labels('invalid_binding_filter'));
  expect(counted(broken, emit(acceptedFacts, acceptedFacts.example))).toStrictEqual(labels('accepted'));
});

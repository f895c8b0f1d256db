import { expect, test } from 'vitest';
import { EntryReceived, exampleFact } from '../schemas/normalized-fact.ts';
import { isExplicit } from './addressing.ts';

const entry = (members: Record<string, unknown>) => EntryReceived.parse({ ...exampleFact, ...members });

test('31: a mention of this agent by the means of its provider is explicit', () => {
  for (const mention of [
    { kind: 'user', structured: true },
    { kind: 'agent' },
    { kind: 'bot', agentUid: 'Iris' },
    { kind: 'unknown', structured: true, agentUid: 'iris', targetsCurrentAgent: true },
  ]) {
    expect(isExplicit(entry({ mentions: [mention] }), 'iris')).toBe(true);
  }
});

test('32: a mention of another agent, or one that says that it is not this one, is not', () => {
  for (const mention of [
    { kind: 'bot', agentUid: 'otto' },
    { kind: 'agent', targetsCurrentAgent: false },
    { kind: 'agent', agentUid: 'iris', structured: true, targetsCurrentAgent: false },
    { kind: 'user' },
  ]) {
    expect(isExplicit(entry({ mentions: [mention] }), 'iris')).toBe(false);
  }
});

test('33: the name in plain text is no mention', () => {
  expect(isExplicit(entry({ text: '@iris hello' }), 'iris')).toBe(false);
});

test('what the provider itself calls explicit is', () => {
  expect(isExplicit(entry({ explicit: true }), 'iris')).toBe(true);
  expect(isExplicit(entry({ explicit: false }), 'iris')).toBe(false);
});

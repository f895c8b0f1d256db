import { expect, test } from 'vitest';
import { normalizedFacts } from '../../schemas/normalized-fact.ts';
import { type ChatFact, chatFacts } from './chat.ts';

const some = (count: number, seed = 1): readonly ChatFact[] => {
  const agents = ['iris', 'otto'];
  const chat = chatFacts({ mark: 'talk', connectionId: 'play', agents, channels: 50, abreast: 20, history: 1, seed });
  return Array.from({ length: count }, () => chat.next().value.fact);
};

test('equal seeds give equal chats, others give others', () => {
  expect(some(500)).toEqual(some(500));
  expect(some(500)).not.toEqual(some(500, 2));
});

test('every fact is one that the pipeline takes', () => {
  expect(some(2_000).filter((fact) => !normalizedFacts.value.safeParse(fact).success)).toEqual([]);
});

test('all that happens in chats is in it', () => {
  const facts = some(20_000);
  const ids = new Set<string>();
  const entries = new Set<string>();
  const kinds = new Map<string, number>();
  for (const fact of facts) {
    const { type, channel, author, mentions = [], text = '' } = fact;
    const isKnown = entries.has(fact.sourceEntryId);
    const found = {
      [`${type} in ${channel.kind}`]: true,
      'told twice under one id': ids.has(fact.sourceEventId),
      'told twice under two': type === 'entry_received' && isKnown && !ids.has(fact.sourceEventId) && !fact.edited,
      'removed before it came': type === 'entry_lifecycle' && !isKnown,
      'reaction to nothing': type === 'reaction' && !isKnown,
      edited: fact.edited,
      'edited late': fact.edited && (fact.providerTime ?? 0) < (fact.sentAt ?? 0),
      'in a thread': fact.providerThreadId !== undefined,
      reply: fact.replyToSourceEntryId !== undefined,
      'names an agent': mentions.some(({ agentUid }) => agentUid !== undefined),
      'names a person': mentions.some(({ kind }) => kind === 'user'),
      command: text.startsWith('/') || text.includes(' /'),
      'by an agent': author?.agentUid !== undefined,
      'with a file': fact.attachments !== undefined,
      long: text.length > 3_000,
    };
    for (const [kind, is] of Object.entries(found)) kinds.set(kind, (kinds.get(kind) ?? 0) + (is ? 1 : 0));
    ids.add(fact.sourceEventId);
    if (type === 'entry_received') entries.add(fact.sourceEntryId);
  }
  expect([...kinds].filter(([, count]) => count < 20)).toEqual([]);
  expect(kinds.size).toBe(8 + 14);
});

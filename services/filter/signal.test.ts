import { expect, test } from 'vitest';
import { bindings } from '../../schemas/binding.ts';
import { EntryLifecycle, exampleFact } from '../../schemas/normalized-fact.ts';
import { filterVariables } from './signal.ts';

const gatewayTime = Date.UTC(2031, 2, 4, 10);

const common = {
  agentUid: 'iris',
  sourceEventId: exampleFact.sourceEventId,
  gatewayTime: '2031-03-04T10:00:00.000Z',
  channel: {
    id: 'github:octo/repo#7',
    kind: 'issue',
    replyMode: 'channel',
    name: 'octo/repo#7 Spelling error',
    visibility: null,
    metadata: {},
  },
  reaction: { key: null, rawKey: null, actorKey: null, action: null },
  action: { id: null, actorKey: null, payload: null },
};

test('an entry has all groups, and null for what does not apply', () => {
  expect(filterVariables(bindings.example, exampleFact, gatewayTime)).toStrictEqual({
    binding: { name: 'desk', adapter: 'github' },
    signal: {
      ...common,
      kind: 'entry_received',
      entry: {
        id: 'issue_comment:492700400',
        sourceEntryId: 'issue_comment:492700400',
        threadId: null,
        providerThreadId: null,
        replyToSourceEntryId: null,
        senderKey: '21031067',
        actorEventType: 'github.issue_comment.created',
        title: null,
        text: 'I will fix this today.',
        formattedContent: null,
        attachments: [],
        links: [],
        author: exampleFact.author,
        mentions: [],
        metadata: {},
        providerTime: new Date(exampleFact.providerTime ?? 0).toISOString(),
        explicit: false,
        mirrorOnly: false,
      },
      lifecycle: { kind: null, providerKind: null },
      command: { prefixes: [], payload: null },
    },
  });
});

test('a removal has all groups too', () => {
  const removal = EntryLifecycle.parse({
    ...exampleFact,
    type: 'entry_lifecycle',
    lifecycleKind: 'removed',
    providerLifecycleKind: 'deleted',
    providerTime: undefined,
    providerThreadId: 'th-a',
  });
  expect(filterVariables(bindings.example, removal, gatewayTime)).toStrictEqual({
    binding: { name: 'desk', adapter: 'github' },
    signal: {
      ...common,
      kind: 'entry_lifecycle',
      entry: {
        id: 'issue_comment:492700400',
        sourceEntryId: 'issue_comment:492700400',
        threadId: 'th-a',
        providerThreadId: 'th-a',
        replyToSourceEntryId: null,
        senderKey: null,
        actorEventType: null,
        title: null,
        text: null,
        formattedContent: null,
        attachments: null,
        links: null,
        author: null,
        mentions: null,
        metadata: {},
        providerTime: null,
        explicit: null,
        mirrorOnly: null,
      },
      lifecycle: { kind: 'removed', providerKind: 'deleted' },
      command: { prefixes: null, payload: null },
    },
  });
});

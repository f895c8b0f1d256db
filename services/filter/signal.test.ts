import { expect, test } from 'vitest';
import { bindings } from '../../schemas/binding.ts';
import { Action, EntryLifecycle, EntryReceived, exampleFact, Reaction } from '../../schemas/normalized-fact.ts';
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

/** The members of `signal.entry` that a fact without an entry's content leaves empty. */
const unwritten = {
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
        ...unwritten,
      },
      lifecycle: { kind: 'removed', providerKind: 'deleted' },
      command: { prefixes: null, payload: null },
    },
  });
});

const { author: _author, text: _text, actorEventType: _type, providerTime: _time, ...aboutExample } = exampleFact;
const noEntryContent = {
  ...unwritten,
  id: 'issue_comment:492700400',
  sourceEntryId: 'issue_comment:492700400',
  threadId: null,
  providerThreadId: null,
};

test('a reaction has all groups too', () => {
  const reaction = Reaction.parse({
    ...aboutExample,
    type: 'reaction',
    reactionKey: 'eyes',
    actorKey: 'mei',
    action: 'remove',
  });
  expect(filterVariables(bindings.example, reaction, gatewayTime).signal).toStrictEqual({
    ...common,
    kind: 'reaction',
    entry: noEntryContent,
    lifecycle: { kind: null, providerKind: null },
    reaction: { key: 'eyes', rawKey: 'eyes', actorKey: 'mei', action: 'remove' },
    command: { prefixes: null, payload: null },
  });
});

test('an action has all groups too, and needs no entry', () => {
  const { sourceEntryId: _, ...about } = aboutExample;
  const action = Action.parse({
    ...about,
    type: 'action',
    actionId: 'approve',
    action: { value: 'yes' },
    actor: { id: 'mei', kind: 'user' },
    actorEventType: 'chat.approved',
  });
  expect(filterVariables(bindings.example, action, gatewayTime).signal).toStrictEqual({
    ...common,
    kind: 'action',
    entry: { ...noEntryContent, id: null, sourceEntryId: null, actorEventType: 'chat.approved' },
    lifecycle: { kind: null, providerKind: null },
    action: { id: 'approve', actorKey: 'mei', payload: { value: 'yes' } },
    command: { prefixes: null, payload: null },
  });
});

test('what a message has is seen: content, files, mentions, prefixes, and for whom it is', () => {
  const mention = { kind: 'bot', agentUid: 'IRIS' };
  const message = EntryReceived.parse({
    ...exampleFact,
    formattedContent: { blocks: [] },
    attachments: [{ providerRef: 'f:9' }],
    mentions: [mention],
    commandPrefixes: ['@iris'],
    senderKey: 'principal:mei',
  });
  const { signal } = filterVariables(bindings.example, message, gatewayTime);
  expect(signal.entry).toMatchObject({
    formattedContent: { blocks: [] },
    attachments: [{ providerRef: 'f:9' }],
    mentions: [mention],
    senderKey: 'principal:mei',
    explicit: true,
  });
  expect(signal.command).toStrictEqual({ prefixes: ['@iris'], payload: null });
});

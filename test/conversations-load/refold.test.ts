import { expect, test } from 'vitest';
import type { LogRecord } from '../e2e/checker/log.ts';
import type { ChatFact } from './chat.ts';
import { refoldConversations } from './refold.ts';

type Step = readonly [
  at: number,
  told: Partial<ChatFact> & { readonly by?: string; readonly due?: number; readonly root?: number },
];

const toIris = { mentions: [{ kind: 'bot', agentUid: 'iris' }] };

/** Steps in the group of iris: what people say, and timers, each with the revision and the step that it is of. */
function refold(steps: readonly Step[], policy = 'record_only') {
  const route = { agentUid: 'iris', bindingName: 'desk', unaddressedGroupMessagePolicy: policy };
  const records = steps.map(([at, { by = 'mei', due, root, ...told }], index): LogRecord => {
    const channel = { kind: 'im_group' };
    const about = {
      signalChannelId: 'chat:1',
      sourceEventId: `ev-${index}`,
      channel,
      sentAt: index,
      providerTime: index,
    };
    const said = {
      type: 'entry_received',
      sourceEntryId: `e${index}`,
      text: `t${index}`,
      author: { id: by, kind: 'user' },
    };
    const value =
      due === undefined
        ? { type: 'fact.accepted', route, fact: { ...about, ...said, ...told } }
        : { type: 'batch.due', route, signalChannelId: 'chat:1', revision: due };
    const place = { topic: 'accepted-facts', partition: 0, offset: BigInt(index) };
    return { ...place, at, key: 'chat:1', value, rootId: `root-${root ?? index}` };
  });
  const { events, ends, ...rest } = refoldConversations(records);
  const gists = events.map(({ type, sourceEntryIds }) => `${type}: ${sourceEntryIds.join('+')}`);
  return { ...rest, events: gists, ends: [...ends.values()].map((each) => each.join('|')) };
}

test('what its sender says around a request is part of it, and its timer closes it', () => {
  const { events, ends, lateMs, open } = refold([
    [0, {}],
    [300, toIris],
    [900, {}],
    [1_950, { due: 3, root: 2 }],
  ]);
  expect(events).toEqual(['im.message.addressed: e0+e1+e2']);
  expect([ends, lateMs, open]).toEqual([['recorded', 'accepted', 'accepted'], [50], 0]);
});

test('others part it: what they said before, and what they say next', () => {
  const { events, open } = refold(
    [
      [0, { by: 'jonas' }],
      [100, {}],
      [200, toIris],
      [300, { by: 'jonas' }],
    ],
    'may_intervene',
  );
  expect([events, open]).toEqual([['im.message.may_intervene: e0', 'im.message.addressed: e1+e2'], 1]);
});

test('a timer of another revision, or of another batch that came as far, closes nothing', () => {
  const { timers, closed, lateMs, open } = refold([
    [0, toIris],
    [500, {}],
    [1_000, { due: 1, root: 0 }],
    [9_000, toIris],
    [11_000, { due: 1, root: 0 }],
  ]);
  expect([timers, closed, lateMs, open]).toEqual([2, 1, [], 1]);
});

test('a removal takes a message out, and its return is dropped; what remains asks nobody', () => {
  const gone = { type: 'entry_lifecycle', sourceEntryId: 'e1' } as const;
  const { events, ends, open } = refold([
    [0, {}],
    [100, toIris],
    [200, gone],
    [300, { sourceEntryId: 'e1' }],
    [400, { due: 3, root: 2 }],
  ]);
  expect([events, ends, open]).toEqual([[], ['recorded', 'accepted', 'accepted', 'dropped_tombstoned'], 1]);
});

test('messages come in the order in which they were sent, edited ones where they were', () => {
  const { events } = refold([
    [0, { ...toIris, sentAt: 2 }],
    [100, { sentAt: 1 }],
    [200, { ...toIris, sourceEntryId: 'e0', sentAt: 2, text: 'other', edited: true, providerTime: 9 }],
    [1_300, { due: 3, root: 2 }],
  ]);
  expect(events).toEqual(['im.message.addressed: e1+e0']);
});

test('eight messages are full, and a command goes past what its sender asked, or after it', () => {
  const many = Array.from({ length: 9 }, (_, index): Step => [index * 10, toIris]);
  expect(refold(many).events).toEqual([
    `im.message.addressed: ${[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `e${n}`).join('+')}`,
  ]);
  const command = (text: string) =>
    refold([
      [0, toIris],
      [10, { ...toIris, text }],
    ]).events;
  expect(command('/new')).toEqual(['im.message.addressed: e0', 'command.new: e1']);
  expect(command('/stop')).toEqual(['command.stop: e1']);
});

import { describe, expect, test } from 'vitest';
import { gist, playOn, type Steps, said, toIris, unsaid } from '../../shared/testing/chat.ts';
import { defaultAt as t0 } from '../../shared/testing/spec.ts';

import { stage } from './stage.ts';

const play = (steps: Steps, options?: Parameters<typeof playOn>[2]) => playOn(stage, steps, options);
describe('removal of what waits', () => {
  test('83: the removal of the only message takes its batch with it, and tells nobody', () => {
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', fact: toIris })],
        [100, unsaid({ id: 'a' })],
      ],
      { until: 5_000 },
    );
    expect(played.ends).toStrictEqual(['accepted', 'accepted']);
    expect([played.events, played.open, played.mirrored.size]).toStrictEqual([[], [], 0]);
    expect([...played.timers]).toStrictEqual([]);
  });

  test('84: of two messages that ask nobody the one that stays is the event', () => {
    const policy = 'may_intervene';
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', policy })],
        [100, said({ id: 'b', text: 'b', policy })],
        [200, unsaid({ id: 'a', policy })],
      ],
      { until: 60_000 },
    );
    expect(played.events.map(gist)).toStrictEqual(['im.message.may_intervene: "b" b']);
  });

  test('85: without its mention, what is left addresses nobody', () => {
    const policy = 'ignore';
    const steps = [
      [0, said({ id: 'a', text: 'a', policy })],
      [100, said({ id: 'b', text: 'b', policy, fact: toIris })],
      [200, unsaid({ id: 'b', policy })],
    ] as const;
    expect(play(steps).open).toMatchObject([{ mode: 'neutral', requesterSenderKey: null }]);
    const played = play(steps, { until: 5_000 });
    expect([played.events, played.open, played.mirrored.size]).toStrictEqual([[], [], 0]);
  });

  const twoMessages = [
    [0, said({ id: 'a', text: 'one', fact: toIris })],
    [100, said({ id: 'b', text: 'two', fact: toIris })],
  ] as const;
  const replaced = ({ events }: ReturnType<typeof play>) =>
    events
      .slice(1)
      .map(({ type, data }) => [
        type,
        data.entry?.sourceEntryId,
        data.lifecycle?.inputs.map(({ eventId, replacement }) => [
          eventId,
          replacement && `${replacement.id} ${gist(replacement)}`,
        ]),
      ]);

  test('86: a request whose only message is gone is told as gone, with nothing in its place', () => {
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', fact: toIris })],
        [5_000, unsaid({ id: 'a' })],
      ],
      { until: 9_000 },
    );
    const [request] = played.events;
    expect(replaced(played)).toStrictEqual([['signal.entry.removed', 'a', [[request?.id, undefined]]]]);
    expect([...played.rows.keys()].filter((name) => name.startsWith('handed-over-batches'))).toStrictEqual([]);
  });

  test('88: of a request of several messages the one that is gone is told, and what remains takes its place', () => {
    const played = play([...twoMessages, [5_000, unsaid({ id: 'a' })], [6_000, unsaid({ id: 'b' })]], { until: 9_000 });
    const id = played.events[0]?.id;
    expect(played.events.map(gist)[0]).toBe('im.message.addressed: "one\\ntwo" a+b');
    expect(replaced(played)).toStrictEqual([
      ['signal.entry.removed', 'a', [[id, `retry:${id}:without:a im.message.addressed: "two" b`]]],
      ['signal.entry.removed', 'b', [[id, undefined]]],
    ]);
    expect(played.events[1]).toMatchObject({
      id: 'gone-a:removed:signal-channel:chat:77',
      data: { availableAt: t0 + 5_000 },
    });
    expect(played.ends.slice(2)).toStrictEqual(['accepted', 'accepted']);
    const told = played.left.flatMap(({ effect }) =>
      effect.do === 'outcome' && effect.reason === 'entry_removed' && effect.status === 'handed_over'
        ? [effect.about?.actorEventId]
        : [],
    );
    expect(told).toStrictEqual(played.events.slice(1).map((event) => event.id));
    expect([...played.rows.keys()].filter((name) => name.startsWith('handed-over-batches'))).toStrictEqual([]);
  });

  test('an edit of one message of a request is told with the whole request as it is now', () => {
    const edit = said({ id: 'a', text: 'ONE', event: 'edit', fact: { ...toIris, edited: true } });
    const played = play([...twoMessages, [5_000, edit], [6_000, unsaid({ id: 'b' })]], { until: 9_000 });
    const id = played.events[0]?.id;
    expect(replaced(played)).toStrictEqual([
      ['signal.entry.edited', 'a', [[id, `retry:${id}:with:edit im.message.addressed: "ONE\\ntwo" a+b`]]],
      ['signal.entry.removed', 'b', [[id, `retry:${id}:without:b im.message.addressed: "ONE" a`]]],
    ]);
    expect(played.events[1]?.data.entry?.text).toBe('ONE');
  });

  test('what nobody asked is replaced as what nobody asked, and may be taken up anew', () => {
    const policy = 'may_intervene';
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', policy })],
        [100, said({ id: 'b', text: 'b', by: 'jonas', policy })],
        [20_000, unsaid({ id: 'b', policy })],
      ],
      { until: 60_000 },
    );
    const [input] = played.events[1]?.data.lifecycle?.inputs ?? [];
    expect(input?.replacement).toMatchObject({
      type: 'im.message.may_intervene',
      data: { ambientBatch: { size: 1, asOf: t0 + 20_000 } },
    });
    expect(input?.replacement?.data).not.toHaveProperty('senderKey');
  });

  test('a request of several messages is remembered as long as what points to it, and no longer', () => {
    const inputRetentionMs = 60_000;
    const gone = (afterMs: number) =>
      play([...twoMessages, [afterMs, unsaid({ id: 'a' })]], { until: 200_000, settings: { inputRetentionMs } }).events
        .length;
    expect(gone(61_099)).toBe(2);
    expect(gone(61_100)).toBe(1);
  });

  test('a removal that names a thread leaves other threads alone, and one that names no channel kind finds it', () => {
    const steps = (fact: object) =>
      play([
        [0, said({ id: 'a', text: 'a', fact: { ...toIris, providerThreadId: 'one' } })],
        [10, unsaid({ id: 'a', fact: { channel: {}, ...fact } })],
      ]).open.length;
    expect(steps({ providerThreadId: 'two' })).toBe(1);
    expect(steps({ providerThreadId: 'one' })).toBe(0);
    expect(steps({})).toBe(0);
  });

  test('what was removed is no context', () => {
    const played = play(
      [
        [0, said({ id: 'q', text: 'secret', by: 'jonas' })],
        [2_000, unsaid({ id: 'q' })],
        [5_000, said({ id: 'a', text: 'a', fact: toIris })],
      ],
      { until: 9_000 },
    );
    expect(played.events[0]?.data).not.toHaveProperty('channelContext');
  });

  test('a message that was kept out of the mirror and is removed as its request closes stays out', () => {
    const policy = 'ignore';
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', policy })],
        [100, said({ id: 'b', text: 'b', policy, fact: toIris })],
        [1_100, unsaid({ id: 'a', policy })],
      ],
      { until: 5_000 },
    );
    expect([...played.mirrored.keys()]).toStrictEqual(['b']);
  });
});

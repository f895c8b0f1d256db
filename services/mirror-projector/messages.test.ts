import { describe, expect, test } from 'vitest';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { OpenBatches } from '../../schemas/batch.ts';
import { Channel } from '../../schemas/mirror.ts';
import { outcome } from '../../shared/stage/index.ts';
import { gist, playOn, type Steps, said, toIris, toMei, waiting } from '../../shared/testing/chat.ts';
import { spec, defaultAt as t0 } from '../../shared/testing/spec.ts';

import { stage } from './stage.ts';

const play = (steps: Steps, options?: Parameters<typeof playOn>[2]) => playOn(stage, steps, options);
const long = 'x'.repeat(4_500);

describe('group policy', () => {
  test('22: a message to nobody under ignore waits, keeps its channel and nothing else, and wakes nobody', () => {
    const played = play([[0, said({ id: 'a', text: 'hi', policy: 'ignore' })]]);
    expect(played.ends).toStrictEqual(['ignored']);
    expect(waiting(played)).toStrictEqual(['neutral a +600']);
    expect(played.mirrored.size).toBe(0);
    expect([...played.rows.keys()]).toStrictEqual([
      'channels:chat:77',
      'open-batches:iris|desk|chat:77',
      'seen-events:iris|desk|ev-a',
    ]);
    expect(play([[0, said({ id: 'a', policy: 'ignore' })]], { until: 600 }).events).toStrictEqual([]);
  });

  test('23: a message to nobody under record_only is mirrored with its thread and wakes nobody', () => {
    const step = said({ id: 'a', text: 'hi', fact: { providerThreadId: 'th-a' } });
    const played = play([[0, step]]);
    expect(played.ends).toStrictEqual(['recorded']);
    expect(played.mirrored.get('a')).toMatchObject({ text: 'hi', providerThreadId: 'th-a' });
    expect(waiting(played)).toStrictEqual(['neutral a +600']);
    const closed = play([[0, step]], { until: 600 });
    expect(closed.events).toStrictEqual([]);
    expect(waiting(closed)).toStrictEqual([]);
    expect([...closed.timers]).toStrictEqual([]);
  });

  test('26: a message to nobody under may_intervene becomes one event fifteen seconds later, and nobody asked', () => {
    const step = said({ id: 'a', text: 'hm', policy: 'may_intervene' });
    expect(waiting(play([[0, step]]))).toStrictEqual(['neutral a +15000']);
    const { events, ends } = play([[0, step]], { until: 15_000 });
    expect(ends).toStrictEqual(['recorded']);
    expect(events.map(gist)).toStrictEqual(['im.message.may_intervene: "hm" a']);
    expect(events[0]?.data).toMatchObject({
      availableAt: t0 + 15_000,
      ambientBatch: { size: 1, asOf: t0 + 15_000, expiresAt: t0 + 315_000 },
    });
    expect(events[0]?.data).not.toHaveProperty('senderKey');
  });

  test('27: what another person says meanwhile joins it, and one event tells both in order', () => {
    const steps = [
      [0, said({ id: 'a', text: 'one', policy: 'may_intervene' })],
      [500, said({ id: 'b', text: 'two', by: 'jonas', policy: 'may_intervene' })],
    ] as const;
    expect(waiting(play(steps))).toStrictEqual(['neutral a+b +15500']);
    const { events } = play(steps, { until: 15_500 });
    expect(events.map(gist)).toStrictEqual(['im.message.may_intervene: "one\\ntwo" a+b']);
    expect(events[0]?.data.entries?.map(({ text, author }) => [text, author?.id])).toStrictEqual([
      ['one', 'mei'],
      ['two', 'jonas'],
    ]);
  });

  test('28: a conversation that does not pause becomes an event five minutes after it began', () => {
    const steps = Array.from({ length: 30 }, (_, number): [number, ReturnType<typeof said>] => [
      number * 10_000,
      said({ id: `e${number}`, text: 'more', policy: 'may_intervene' }),
    ]);
    expect(play(steps).open[0]?.dueAt).toBe(t0 + 300_000);
    const { events } = play(steps, { until: 300_000 });
    expect(events.map(({ data }) => data.availableAt)).toStrictEqual([t0 + 300_000]);
    expect(events[0]?.data.inboundBatch?.sourceEntryIds).toHaveLength(30);
  });

  test('30: the policy says nothing of a DM: it wakes after a second', () => {
    const step = said({ id: 'a', text: 'hello', kind: 'im_dm', policy: 'ignore' });
    const waits = play([[0, step]]);
    expect(waits.ends).toStrictEqual(['accepted']);
    expect(waiting(waits)).toStrictEqual(['addressed a +1000']);
    expect(play([[0, step]], { until: 999 }).events).toStrictEqual([]);
    const { events } = play([[0, step]], { until: 1_000 });
    expect(events.map(gist)).toStrictEqual(['im.message.addressed: "hello" a']);
    expect(events[0]?.data).toMatchObject({ senderKey: 'mei', availableAt: t0 + 1_000 });
    expect(events[0]?.data).not.toHaveProperty('entries');
  });

  test('31: a structured mention of the agent addresses it, whatever the policy', () => {
    const { ends } = play([[0, said({ id: 'a', text: 'you', policy: 'ignore', fact: toIris })]]);
    expect(ends).toStrictEqual(['accepted']);
  });

  test('32: a mention of another bot, or of none of this agent, addresses nobody', () => {
    for (const mention of [
      { kind: 'bot', agentUid: 'otto' },
      { kind: 'bot', agentUid: 'iris', targetsCurrentAgent: false },
      { kind: 'user', id: 'iris' },
    ]) {
      expect(play([[0, said({ id: 'a', text: 'you', fact: { mentions: [mention] } })]]).ends).toStrictEqual([
        'recorded',
      ]);
    }
  });

  test('33: plain text that holds the name addresses nobody', () => {
    expect(play([[0, said({ id: 'a', text: '@iris hello' })]]).ends).toStrictEqual(['recorded']);
  });

  test('what a provider calls an invocation addresses the agent without a mention', () => {
    expect(play([[0, said({ id: 'a', text: 'you', fact: { explicit: true } })]]).ends).toStrictEqual(['accepted']);
  });

  test('an entry to mirror only joins no batch and wakes nobody, whatever it mentions', () => {
    const played = play([[0, said({ id: 'a', text: 'you', fact: { ...toIris, mirrorOnly: true } })]], { until: 5_000 });
    expect(played.ends).toStrictEqual(['recorded']);
    expect([played.events, played.open]).toStrictEqual([[], []]);
  });

  test('a message with a type of its own is an event at once, in a DM too', () => {
    const step = said({ id: 'a', text: 'x', kind: 'im_dm', fact: { actorEventType: 'chat.form.sent' } });
    expect(play([[0, step]]).events.map(gist)).toStrictEqual(['chat.form.sent: "x" a']);
  });
});

describe('batches', () => {
  const due = (batchId: string, revision: number) =>
    acceptedFacts.value.parse({
      type: 'batch.due',
      route: {
        agentUid: 'iris',
        bindingName: 'desk',
        adapter: 'chat',
        unaddressedGroupMessagePolicy: 'may_intervene',
      },
      signalChannelId: 'chat:77',
      batchId,
      revision,
    });

  test('29: a timer closes its batch once, at its revision and when it is due', () => {
    const step = said({ id: 'a', text: 'hm', policy: 'may_intervene' });
    const { open, rows } = play([[0, step]]);
    const batches = OpenBatches.parse(rows.get('open-batches:iris|desk|chat:77'));
    const channel = Channel.parse(rows.get('channels:chat:77'));
    const batchId = open[0]?.id ?? '';
    const { given } = spec(stage);
    const stale = outcome('ignored', { reason: 'inbound_batch_revision_stale' });

    const closed = given({ batches, channel })
      .when(due(batchId, 1), { at: t0 + 15_000 })
      .effects();
    expect(closed.map((effect) => effect.do)).toStrictEqual(['emit', 'put', 'outcome', 'remove', 'cancel']);
    given({ channel })
      .when(due(batchId, 1), { at: t0 + 15_001 })
      .then(stale);
    given({ batches, channel })
      .when(due(batchId, 2), { at: t0 + 15_000 })
      .then(stale);
    given({ batches, channel })
      .when(due(batchId, 1), { at: t0 + 14_999 })
      .then(outcome('ignored', { reason: 'inbound_batch_not_due' }));
  });

  test('34, 35: what another person asks closes a request at once, and each is one event', () => {
    const steps = [
      [0, said({ id: 'a', text: 'a', fact: toIris })],
      [100, said({ id: 'b', text: 'b', fact: toIris })],
      [200, said({ id: 'c', text: 'c', by: 'jonas', fact: toIris })],
    ] as const;
    const played = play(steps);
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "a\\nb" a+b']);
    expect(played.events[0]?.data.entry?.sourceEntryId).toBe('b');
    expect(waiting(played)).toStrictEqual(['addressed c +1200']);
    const last = played.left.filter(({ message }) => message === 'm2').map(({ effect }) => effect);
    expect(last).toMatchObject([
      { do: 'emit', value: { id: played.events[0]?.id } },
      { do: 'outcome', status: 'handed_over', rootId: 'm0', about: { sourceEntryId: 'a' } },
      { do: 'outcome', status: 'handed_over', rootId: 'm1', about: { sourceEntryId: 'b' } },
      { do: 'outcome', status: 'accepted' },
    ]);
  });

  test('36: of what was said before, a request holds what its own sender said last, and the rest stays unmirrored', () => {
    const steps = [
      [0, said({ id: 'a', text: 'a', policy: 'ignore' })],
      [100, said({ id: 'b', text: 'b', by: 'jonas', policy: 'ignore' })],
      [200, said({ id: 'c', text: 'c', by: 'jonas', policy: 'ignore', fact: toIris })],
    ] as const;
    const played = play(steps, { until: 2_000 });
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "b\\nc" b+c']);
    expect([...played.mirrored.keys()]).toStrictEqual(['b', 'c']);
  });

  test('37: what the sender said before becomes part of the request, and both are mirrored when it closes', () => {
    const steps = [
      [0, said({ id: 'a', text: 'a', by: 'jonas', policy: 'ignore' })],
      [100, said({ id: 'b', text: 'b', by: 'jonas', policy: 'ignore', fact: toIris })],
    ] as const;
    const before = play(steps);
    expect(waiting(before)).toStrictEqual(['addressed a+b +1100']);
    expect(before.open[0]?.revision).toBe(2);
    expect([...before.mirrored.keys()]).toStrictEqual(['b']);
    const after = play(steps, { until: 1_100 });
    expect(after.events.map(gist)).toStrictEqual(['im.message.addressed: "a\\nb" a+b']);
    expect([...after.mirrored.keys()]).toStrictEqual(['a', 'b']);
  });

  test('38: a newer revision that the mirror has by then stays', () => {
    const played = play(
      [
        [0, said({ id: 'a', text: 'old', policy: 'ignore', fact: { providerTime: t0 } })],
        [50, said({ id: 'a', text: 'new', agentUid: 'otto', fact: { providerTime: t0 + 50 } })],
        [100, said({ id: 'b', text: 'b', policy: 'ignore', fact: { ...toIris, providerTime: t0 + 100 } })],
      ],
      { until: 2_000 },
    );
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "old\\nb" a+b']);
    expect(played.mirrored.get('a')?.text).toBe('new');
  });

  test('39: an image that follows without a mention joins the request, which waits for it and tells it once', () => {
    const image = { attachments: [{ providerRef: 'f:1' }, { providerRef: 'f:1' }] };
    const steps = [
      [0, said({ id: 'a', text: 'look', fact: toIris })],
      [500, said({ id: 'b', fact: image })],
    ] as const;
    expect(play(steps).ends).toStrictEqual(['accepted', 'accepted']);
    expect(play(steps, { until: 1_100 }).events).toStrictEqual([]);
    const { events } = play(steps, { until: 1_700 });
    expect(events.map(gist)).toStrictEqual(['im.message.addressed: "look" a+b']);
    expect(events[0]?.data.entry?.attachments).toStrictEqual([{ providerRef: 'f:1' }]);
  });

  test('40: a single long text is not split and waits two seconds', () => {
    const step = said({ id: 'a', text: long, fact: toIris });
    expect(waiting(play([[0, step]]))).toStrictEqual(['addressed a +2000']);
    expect(play([[0, step]], { until: 2_000 }).events[0]?.data.entry?.text).toHaveLength(4_500);
  });

  const eight = Array.from({ length: 8 }, (_, number): [number, ReturnType<typeof said>] => [
    number,
    said({ id: `e${number}`, text: 'x', fact: toIris }),
  ]);

  test('41: a ninth message closes the request of eight and opens another', () => {
    const played = play([...eight, [8, said({ id: 'e8', text: 'x', fact: toIris })]]);
    expect(played.events.map(({ data }) => data.inboundBatch?.sourceEntryIds)).toStrictEqual([
      ['e0', 'e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7'],
    ]);
    expect(waiting(played)).toStrictEqual(['addressed e8 +1008']);
  });

  test('42: what follows on a full request without a mention is a request too', () => {
    const played = play([...eight, [8, said({ id: 'e8', text: 'and this' })]]);
    expect(played.ends.at(-1)).toBe('accepted');
    expect(waiting(played)).toStrictEqual(['addressed e8 +1008']);
    expect(play([...eight, [8, said({ id: 'e8', text: 'and this' })]], { until: 2_000 }).events).toHaveLength(2);
  });

  test('43: a message of the same sender to somebody else closes the request and waits by itself', () => {
    const played = play([
      [0, said({ id: 'a', text: 'a', fact: toIris })],
      [100, said({ id: 'b', text: 'b', fact: toMei })],
    ]);
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "a" a']);
    expect(played.ends).toStrictEqual(['accepted', 'recorded']);
    expect(waiting(played)).toStrictEqual(['neutral b +700']);
  });

  test('44: a reply to something else closes what waits', () => {
    const played = play([
      [0, said({ id: 'a', text: 'a', fact: toIris })],
      [100, said({ id: 'b', text: 'b', fact: { ...toIris, replyToSourceEntryId: 'e-4' } })],
    ]);
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "a" a']);
    expect(waiting(played)).toStrictEqual(['addressed b +1100']);
  });

  test('45: a message told again under another event changes nothing', () => {
    const once = play([[0, said({ id: 'a', text: 'a', fact: toIris })]]);
    const twice = play([
      [0, said({ id: 'a', text: 'a', fact: toIris })],
      [100, said({ id: 'a', event: 'again', text: 'a', fact: toIris })],
    ]);
    expect(twice.ends).toStrictEqual(['accepted', 'accepted']);
    expect(twice.open).toStrictEqual(once.open);
    expect([...twice.timers]).toStrictEqual([...once.timers]);
  });

  test('46: an edit while it waits replaces the message and starts the window anew', () => {
    const steps = [
      [0, said({ id: 'a', text: 'tpyo', fact: { ...toIris, providerTime: t0 } })],
      [100, said({ id: 'a', event: 'edit', text: 'fixed', fact: { ...toIris, providerTime: t0 + 90 } })],
    ] as const;
    const waits = play(steps);
    expect(waiting(waits)).toStrictEqual(['addressed a +1100']);
    expect(waits.mirrored.get('a')?.text).toBe('fixed');
    expect(play(steps, { until: 1_100 }).events.map(gist)).toStrictEqual(['im.message.addressed: "fixed" a']);
  });

  test('an older telling of a message that waits changes neither it nor its window', () => {
    const played = play([
      [0, said({ id: 'a', text: 'new', fact: { ...toIris, providerTime: t0 } })],
      [100, said({ id: 'a', event: 'late', text: 'old', fact: { ...toIris, providerTime: t0 - 90 } })],
    ]);
    expect(waiting(played)).toStrictEqual(['addressed a +1000']);
    expect(played.mirrored.get('a')?.text).toBe('new');
  });

  test('an edit that takes the mention away takes the message out of the request', () => {
    const steps = [
      [0, said({ id: 'a', text: 'you', fact: { ...toIris, providerTime: t0 } })],
      [100, said({ id: 'a', event: 'edit', text: 'nobody', fact: { providerTime: t0 + 90 } })],
    ] as const;
    const played = play(steps);
    expect(played.ends).toStrictEqual(['accepted', 'recorded']);
    expect(waiting(played)).toStrictEqual(['neutral a +700']);
    expect(play(steps, { until: 5_000 }).events).toStrictEqual([]);
  });

  test('47: a message told again after it was handed over is a duplicate, and refreshes the mirror alone', () => {
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', fact: { ...toIris, providerTime: t0 } })],
        [2_000, said({ id: 'a', event: 'late', text: 'b', fact: { ...toIris, providerTime: t0 + 1 } })],
      ],
      { until: 9_000 },
    );
    expect(played.ends).toStrictEqual(['accepted', 'duplicate']);
    expect(played.events).toHaveLength(1);
    expect(played.mirrored.get('a')?.text).toBe('b');
  });

  test('a message told again when its batch is due, before its timer fired, is handed over once', () => {
    const { rows } = play([[0, said({ id: 'a', text: 'a', fact: toIris })]]);
    const batches = OpenBatches.parse(rows.get('open-batches:iris|desk|chat:77'));
    const again = said({ id: 'a', event: 'again', text: 'a', fact: toIris });
    const effects = spec(stage)
      .given({ batches, channel: Channel.parse(rows.get('channels:chat:77')) })
      .when(again, { at: t0 + 1_000 })
      .effects();
    expect(effects.filter((effect) => effect.do === 'emit')).toHaveLength(1);
    expect(effects.at(-1)).toStrictEqual(outcome('duplicate', { reason: 'same_entry' }));
  });

  test('48: a timer that finds nothing leaves the other batches alone', () => {
    const played = play(
      [
        [0, said({ id: 'a', text: 'a', fact: toIris })],
        [1, due('another', 1)],
      ],
      { until: 1_000 },
    );
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "a" a']);
  });

  test('49: a mention without text asks what was said before: its text is empty, the question is its context', () => {
    const played = play(
      [
        [0, said({ id: 'q', text: 'why?', by: 'jonas' })],
        [5_000, said({ id: 'a', fact: toIris })],
      ],
      { until: 9_000 },
    );
    expect(played.events.map(gist)).toStrictEqual(['im.message.addressed: "" a']);
    expect(played.events[0]?.data.channelContext?.messages.map(({ text }) => text)).toStrictEqual(['why?']);
  });

  test("50: what the agent's own history shows is left out of its context, other agents' messages are not", () => {
    const own = { author: { id: 'b-1', kind: 'bot', agentUid: 'iris' } };
    const other = { author: { id: 'b-2', kind: 'bot', agentUid: 'otto' } };
    const played = play(
      [
        [0, said({ id: 'a', text: 'first question', fact: toIris })],
        [5_000, said({ id: 'r', text: 'own answer', fact: own })],
        [6_000, said({ id: 'o', text: 'another answer', fact: other })],
        [15_000, said({ id: 'b', text: 'second question', fact: toIris })],
      ],
      { until: 19_000 },
    );
    expect(played.events.at(-1)?.data.channelContext?.messages.map(({ text }) => text)).toStrictEqual([
      'another answer',
    ]);
  });

  test('51: a file that is being downloaded is waited for until its cap, and a finished one for as long as it took', () => {
    const file = (state: string) => ({
      ...toIris,
      attachments: [{ providerRef: 'f:1', materialization: { state, observedAt: t0 + 500 } }],
    });
    const pending = [500, said({ id: 'a', fact: file('pending') })] as const;
    expect(waiting(play([pending]))).toStrictEqual(['addressed a +4500']);
    const complete = [2_500, said({ id: 'a', event: 'done', fact: file('complete') })] as const;
    expect(waiting(play([pending, complete]))).toStrictEqual(['addressed a +1700']);
    expect(play([pending, complete], { until: 2_500 }).events.map(gist)).toStrictEqual(['im.message.addressed: "" a']);
  });

  test('52: a file whose download never ends keeps a request no longer than its cap', () => {
    const file = {
      ...toIris,
      attachments: [{ providerRef: 'f:1', materialization: { state: 'pending', observedAt: t0 } }],
    };
    const { events } = play([[0, said({ id: 'a', fact: file })]], { until: 4_000 });
    expect(events[0]?.data.entry?.attachments?.[0]?.materialization?.state).toBe('pending');
  });

  test('52: a file that comes after its request was handed over is told in the place of the event, and once', () => {
    const file = (state: string) => ({
      ...toIris,
      attachments: [{ providerRef: 'f:1', materialization: { state, observedAt: t0 } }],
    });
    const complete = said({ id: 'a', event: 'done', fact: file('complete') });
    const steps = [
      [0, said({ id: 'a', text: 'see', fact: file('pending') })],
      [6_000, said({ id: 'a', text: 'see', event: 'done', fact: file('complete') })],
      [7_000, said({ id: 'a', text: 'see', event: 'again', fact: file('complete') })],
    ] as const;
    const played = play(steps, { until: 9_000 });
    expect(played.ends).toStrictEqual(['accepted', 'input_superseded_refresh', 'duplicate']);
    const [first, refresh, ...more] = played.events;
    expect(more).toStrictEqual([]);
    expect(refresh).toMatchObject({ type: 'signal.entry.edited', data: { availableAt: t0 + 6_000 } });
    expect(refresh?.data.lifecycle?.inputs).toMatchObject([
      {
        eventId: first?.id,
        replacement: {
          id: `retry:${first?.id}:with:done`,
          type: 'im.message.addressed',
          data: { entry: { text: 'see', attachments: [{ materialization: { state: 'complete' } }] } },
        },
      },
    ]);
    // Said by somebody who has it from the start, it is no news.
    expect(play([[0, complete]], { until: 5_000 }).events).toHaveLength(1);
  });

  test('53, 54: what nobody answered is what people said after the last word of the agent, as the mirror shows it', () => {
    const own = { author: { id: 'b-1', kind: 'bot', agentUid: 'iris' } };
    const policy = 'may_intervene';
    const played = play(
      [
        [0, said({ id: 'a', text: 'before', policy })],
        [20_000, said({ id: 'r', text: 'answer', policy, fact: own })],
        [21_000, said({ id: 'b', text: 'after', policy })],
        [40_000, said({ id: 'c', text: 'now', policy })],
      ],
      { until: 60_000 },
    );
    expect(played.events.map(gist).at(-1)).toBe('im.message.may_intervene: "now" c');
    expect(played.events.at(-1)?.data.unrepliedMessages?.map(({ text }) => text)).toStrictEqual(['after']);
  });

  test('windows are those of the binding', () => {
    const step = said({ id: 'a', text: 'a', fact: toIris, windows: { addressedMs: 50 } });
    expect(waiting(play([[0, step]]))).toStrictEqual(['addressed a +50']);
  });

  test('threads wait apart', () => {
    const in_ = (providerThreadId: string) => ({ ...toIris, providerThreadId });
    const played = play([
      [0, said({ id: 'a', text: 'a', fact: in_('one') })],
      [10, said({ id: 'b', text: 'b', fact: in_('two') })],
      [20, said({ id: 'c', text: 'c', fact: in_('one') })],
    ]);
    expect(waiting(played).toSorted()).toStrictEqual(['addressed a+c +1020', 'addressed b +1010']);
  });

  test('no more messages to nobody wait together than the setting says, and none is lost', () => {
    const policy = 'may_intervene';
    const steps = Array.from({ length: 20 }, (_, number): [number, ReturnType<typeof said>] => [
      number,
      said({ id: `e${number}`, text: 'x', policy }),
    ]);
    const { events } = play(steps, { until: 60_000, settings: { maxBatchEntries: 8 } });
    expect(events.map(({ data }) => data.ambientBatch?.size)).toStrictEqual([8, 8, 4]);
  });

  test('a message that is larger than any event may be is refused and leaves nothing', () => {
    const played = play([[0, said({ id: 'a', text: 'x'.repeat(2_200_000), fact: toIris })]]);
    expect(played.ends).toStrictEqual(['output-too-large']);
    expect(played.rows.size).toBe(0);
  });
});

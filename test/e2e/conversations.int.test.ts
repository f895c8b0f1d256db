import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import type { ActorEvent } from '../../schemas/actor-event.ts';
import { gist } from '../../shared/testing/chat.ts';
import { removed } from './conversation.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { everyService, runServices, type ServiceProcess, stop, untilReady } from './product.ts';

// All lines are told at once, each in a channel of its own, and what they wait for comes side by side.
vi.setConfig({ maxConcurrency: 100 });

const infrastructure = inject('infrastructure');
const run = `talk-${randomUUID().slice(0, 8)}`;
const [iris, otto] = [`${run}-iris`, `${run}-otto`];

/** Nothing closes by itself, and each window can be told from the others. */
const still = {
  addressedMs: 3_000_000,
  addressedAttachmentsMs: 3_100_000,
  addressedLongTextMs: 3_200_000,
  neutralMs: 3_300_000,
  neutralAttachmentsMs: 3_400_000,
  ambientMs: 3_500_000,
  ambientMostMs: 3_550_000,
  pendingAttachmentMs: 3_600_000,
};
/** Everything closes by itself, as soon as a machine that is busy can still tell the order of what came before. */
const quick = {
  addressedMs: 400,
  addressedAttachmentsMs: 450,
  addressedLongTextMs: 500,
  neutralMs: 300,
  neutralAttachmentsMs: 350,
  ambientMs: 400,
  pendingAttachmentMs: 600,
};
const rules = {
  still: { agentUid: iris, windows: still },
  quick: { agentUid: iris, windows: quick },
  'still-ignore': { agentUid: iris, policy: 'ignore', windows: still },
  'quick-ignore': { agentUid: iris, policy: 'ignore', windows: quick },
  ambient: { agentUid: iris, policy: 'may_intervene', windows: quick },
  // Each message would keep it waiting for an hour, were it not for the most that the first one may wait.
  capped: { agentUid: iris, policy: 'may_intervene', windows: { ...still, ambientMostMs: 600 } },
  // Two agents in one group, of whom each is told something else: otto what has a title.
  mine: { agentUid: iris, policy: 'ignore', windows: quick, cel: 'signal.entry.title == null' },
  his: { agentUid: otto, windows: still, connection: 'mine', cel: 'signal.entry.title != null' },
} as const;

let gateway: Gateway;
let product: ServiceProcess;

beforeAll(async () => {
  gateway = await openGateway(infrastructure, run, rules);
  product = await runServices(everyService, gateway.settings);
  await untilReady(product);
});
afterAll(async () => {
  try {
    expect(await gateway.unexpected()).toEqual([]);
  } finally {
    expect(await stop(product)).toMatchObject({ code: 0 });
    await gateway.close();
  }
});

const talk = (rule: keyof typeof rules) => gateway.talk(rule);
const toIris = { mentions: [{ kind: 'bot', agentUid: iris }] };
const toMei = { mentions: [{ kind: 'user', id: 'mei' }] };
const byIris = { author: { id: 'b-1', kind: 'bot', agentUid: iris } };
const byOtto = { author: { id: 'b-2', kind: 'bot', agentUid: otto } };
const t0 = Date.parse('2031-03-04T10:00:00Z');
const replyTo = (replyToSourceEntryId: string) => ({ replyToSourceEntryId });
const longText = 'x'.repeat(4_500);

/** What each batch holds, whether it asks somebody, and how long it waits after the last that was told. */
const waiting = (open: Awaited<ReturnType<ReturnType<typeof talk>['open']>>): readonly string[] =>
  open.map(({ mode, entries, dueAt }) => {
    const told = Math.max(...entries.map(({ observedAt }) => observedAt));
    return `${mode} ${entries.map(({ fact }) => fact.sourceEntryId).join('+')} +${dueAt - told}`;
  });

describe.concurrent('group policy', () => {
  test('22: under ignore a message to nobody waits; its channel is kept, it is not, and nobody wakes', async () => {
    const chat = talk('still-ignore');
    await chat.tell({ id: 'a', text: 'hi' });
    expect(await chat.ends()).toEqual(['ignored']);
    expect(await chat.channel()).toMatchObject({ id: chat.signalChannelId, kind: 'im_group', replyMode: 'entry' });
    expect(await chat.entry('a')).toBeUndefined();
    expect(waiting(await chat.open())).toEqual([`neutral a +${still.neutralMs}`]);
    expect(await chat.events(0)).toEqual([]);

    const closing = talk('quick-ignore');
    await closing.tell({ id: 'a', text: 'hi' });
    await closing.ends();
    await closing.closed();
    expect(await closing.events(0)).toEqual([]);
    expect(await closing.entry('a')).toBeUndefined();
  });

  test('23: under record_only it is mirrored with its thread, waits, and wakes nobody', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'hi', fact: { providerThreadId: 'th-a' } });
    expect(await chat.ends()).toEqual(['recorded']);
    expect(await chat.entry('a')).toMatchObject({ text: 'hi', providerThreadId: 'th-a', author: { id: 'mei' } });
    expect(waiting(await chat.open())).toEqual([`neutral a +${still.neutralMs}`]);
    expect(await chat.events(0)).toEqual([]);
  });

  test('26: under may_intervene it becomes one event when its window is over, and nobody asked', async () => {
    const chat = talk('ambient');
    await chat.tell({ id: 'a', text: 'hm' });
    expect(await chat.ends()).toEqual(['recorded']);
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.may_intervene: "hm" a');
    expect(event?.data).not.toHaveProperty('senderKey');
    const { firstSeenAt = 0 } = (await chat.entry('a')) ?? {};
    const { availableAt = 0, ambientBatch } = event?.data ?? {};
    expect(availableAt).toBeGreaterThanOrEqual(firstSeenAt + quick.ambientMs);
    expect(ambientBatch).toEqual({
      size: 1,
      firstSourceEntryId: 'a',
      lastSourceEntryId: 'a',
      asOf: availableAt,
      expiresAt: availableAt + 300_000,
    });
  });

  test('27: what another person says meanwhile joins it, and one event tells both in order', async () => {
    const chat = talk('ambient');
    await chat.tell({ id: 'a', text: 'one' }, { id: 'b', text: 'two', by: 'jonas' });
    expect(await chat.ends()).toEqual(['recorded', 'recorded']);
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.may_intervene: "one\\ntwo" a+b');
    expect(event?.data.entries?.map(({ text, author }) => [text, author?.id])).toEqual([
      ['one', 'mei'],
      ['two', 'jonas'],
    ]);
    const { firstSeenAt = 0 } = (await chat.entry('b')) ?? {};
    expect(event?.data.availableAt).toBeGreaterThanOrEqual(firstSeenAt + quick.ambientMs);
  });

  test('28: a conversation that does not pause becomes an event when its first message has waited for the most', async () => {
    const chat = talk('capped');
    await chat.tell({ id: 'a', text: 'one' }, { id: 'b', text: 'two' });
    const [event] = await chat.events(1);
    expect(event?.data.inboundBatch?.sourceEntryIds).toEqual(['a', 'b']);
    const { firstSeenAt = 0 } = (await chat.entry('a')) ?? {};
    const waited = (event?.data.availableAt ?? 0) - firstSeenAt;
    expect(waited).toBeGreaterThanOrEqual(rules.capped.windows.ambientMostMs);
    expect(waited).toBeLessThan(rules.capped.windows.ambientMs);
  });

  test('30: a DM wakes whatever the policy, when its window is over', async () => {
    const chat = gateway.talk('quick-ignore', { kind: 'im_dm' });
    await chat.post(product.ingressUrl, { id: 'a', text: 'hello' });
    expect(await chat.ends()).toEqual(['accepted']);
    const [event] = await chat.events(1);
    expect(event).toMatchObject({
      type: 'im.message.addressed',
      subject: 'signal_gateway_entries:a',
      source: `signal://typed-facts/${encodeURIComponent(chat.signalChannelId)}`,
      data: {
        session: { agentUid: iris, sessionId: `signal-channel:${chat.signalChannelId}`, bindingName: 'quick-ignore' },
        channel: { id: chat.signalChannelId, kind: 'im_dm', replyMode: 'entry' },
        entry: { sourceEntryId: 'a', text: 'hello' },
        inboundBatch: { revision: 1, sourceEntryIds: ['a'] },
        senderKey: 'mei',
      },
    });
    const { firstSeenAt = 0 } = (await chat.entry('a')) ?? {};
    expect(event?.data.availableAt).toBeGreaterThanOrEqual(firstSeenAt + quick.addressedMs);
  });

  test('31: a structured mention of the agent addresses it in a group, under ignore too', async () => {
    const chat = talk('quick-ignore');
    await chat.tell({ id: 'a', text: 'you', fact: toIris });
    expect(await chat.ends()).toEqual(['accepted']);
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "you" a']);
  });

  test('32: a mention of another bot, or of none of this agent, addresses nobody', async () => {
    const chat = talk('still');
    await chat.tell(
      { id: 'a', text: 'you', fact: { mentions: [{ kind: 'bot', agentUid: otto }] } },
      { id: 'b', text: 'you', fact: { mentions: [{ kind: 'bot', agentUid: iris, targetsCurrentAgent: false }] } },
    );
    expect(await chat.ends()).toEqual(['recorded', 'recorded']);
    expect(waiting(await chat.open())).toEqual([`neutral a+b +${still.neutralMs}`]);
  });

  test('33: plain text that holds the name addresses nobody', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: `@${iris} hello` });
    expect(await chat.ends()).toEqual(['recorded']);
    await chat.closed();
    expect(await chat.events(0)).toEqual([]);
  });
});

describe.concurrent('batches', () => {
  test('29: a timer that comes too early, or that is not of the newest revision, closes nothing', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'a', fact: toIris }, { id: 'b', text: 'b', fact: toIris });
    await chat.ends();
    const [batch] = await chat.open();
    expect(batch).toMatchObject({ revision: 2 });
    const timer = {
      type: 'batch.due',
      route: {
        agentUid: iris,
        bindingName: 'still',
        adapter: 'typed-facts',
        unaddressedGroupMessagePolicy: 'record_only',
      },
      signalChannelId: chat.signalChannelId,
      batchId: batch?.id,
    };
    await gateway.client.publish(
      'accepted-facts',
      [1, 2].map((revision) => ({ key: chat.signalChannelId, fact: { ...timer, revision } })),
    );
    const reasons = () => chat.decisions().flatMap(({ reason }) => reason ?? []);
    await vi.waitUntil(() => reasons().length === 2, { timeout: 30_000, interval: 25 });
    expect(reasons().toSorted()).toEqual(['inbound_batch_not_due', 'inbound_batch_revision_stale']);
    expect(await chat.open()).toEqual([batch]);
  });

  test('34, 35: what another person asks closes a request, and each message is told by what closed it', async () => {
    const chat = talk('still');
    await chat.tell(
      { id: 'a', text: 'a', fact: toIris },
      { id: 'b', text: 'b', fact: toIris },
      { id: 'c', text: 'c', by: 'jonas', fact: toIris },
    );
    expect(await chat.ends()).toEqual(['accepted', 'accepted', 'accepted']);
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.addressed: "a\\nb" a+b');
    expect(event?.data).toMatchObject({ entry: { sourceEntryId: 'b' }, senderKey: 'mei' });
    expect(waiting(await chat.open())).toEqual([`addressed c +${still.addressedMs}`]);

    const all = chat.decisions();
    const closing = all.find(({ status, about }) => status === 'accepted' && about.sourceEntryId === 'c')?.from;
    const handedOver = all.filter(({ status }) => status === 'handed_over');
    expect(handedOver.map(({ about }) => [about.sourceEntryId, about.actorEventId]).toSorted()).toEqual([
      ['a', event?.id],
      ['b', event?.id],
    ]);
    expect(new Set(handedOver.map(({ from }) => from))).toEqual(new Set([closing]));
  });

  test('36: of what was said before, a request holds what its own sender said last; the rest is never mirrored', async () => {
    const chat = talk('quick-ignore');
    await chat.tell(
      { id: 'a', text: 'a' },
      { id: 'b', text: 'b', by: 'jonas' },
      { id: 'c', text: 'c', by: 'jonas', fact: toIris },
    );
    expect(await chat.ends()).toEqual(['ignored', 'ignored', 'accepted']);
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "b\\nc" b+c']);
    await vi.waitFor(async () => expect(await chat.entry('b')).toMatchObject({ text: 'b' }), { timeout: 30_000 });
    expect(await chat.entry('c')).toMatchObject({ text: 'c' });
    expect(await chat.entry('a')).toBeUndefined();
  });

  test('37: what the sender said before becomes part of the request, and both are mirrored when it closes', async () => {
    const before = talk('still-ignore');
    const [first, second] = [
      { id: 'a', text: 'a', by: 'jonas' },
      { id: 'b', text: 'b', by: 'jonas', fact: toIris },
    ];
    await before.tell(first, second);
    await before.ends();
    expect(waiting(await before.open())).toEqual([`addressed a+b +${still.addressedMs}`]);
    expect(await before.open()).toMatchObject([{ revision: 2, requesterSenderKey: 'jonas' }]);
    expect(await before.entry('a')).toBeUndefined();

    const chat = talk('quick-ignore');
    await chat.tell(first, second);
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "a\\nb" a+b']);
    await vi.waitFor(async () => expect(await chat.entry('a')).toMatchObject({ text: 'a' }), { timeout: 30_000 });
    expect(await chat.entry('b')).toMatchObject({ text: 'b' });
  });

  test('38: a newer revision that the mirror has by then stays', async () => {
    const chat = talk('mine');
    await chat.tell(
      { id: 'a', text: 'old', fact: { providerTime: t0 + 1_000 } },
      { id: 'a', event: 'a-new', text: 'new', fact: { title: 'to otto', providerTime: t0 + 2_000 } },
      { id: 'b', text: 'b', fact: { providerTime: t0 + 3_000 } },
      { id: 'c', text: 'c', fact: { ...toIris, providerTime: t0 + 4_000 } },
    );
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "old\\nb\\nc" a+b+c']);
    // It is shown after the other one.
    await vi.waitFor(async () => expect(await chat.entry('b')).toMatchObject({ text: 'b' }), { timeout: 30_000 });
    expect(await chat.entry('a')).toMatchObject({ text: 'new', providerTime: t0 + 2_000 });
  });

  test('39: an image that follows without a mention joins the request, which waits for it and tells it once', async () => {
    const messages = [
      { id: 'a', text: 'look', fact: toIris },
      { id: 'b', fact: { attachments: [{ providerRef: 'f:1' }, { providerRef: 'f:1' }] } },
    ];
    const waits = talk('still');
    await waits.tell(...messages);
    expect(await waits.ends()).toEqual(['accepted', 'accepted']);
    expect(waiting(await waits.open())).toEqual([`addressed a+b +${still.addressedAttachmentsMs}`]);

    const chat = talk('quick');
    await chat.tell(...messages);
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.addressed: "look" a+b');
    expect(event?.data.entry).toMatchObject({ sourceEntryId: 'b', attachments: [{ providerRef: 'f:1' }] });
    expect(event?.data.entry?.attachments).toHaveLength(1);
  });

  test('40: a single long text is not split, and waits for as long as a long text does', async () => {
    const waits = talk('still');
    await waits.tell({ id: 'a', text: longText, fact: toIris });
    await waits.ends();
    expect(waiting(await waits.open())).toEqual([`addressed a +${still.addressedLongTextMs}`]);

    const chat = talk('quick');
    await chat.tell({ id: 'a', text: longText, fact: toIris });
    const [event] = await chat.events(1);
    expect(event?.data.entry?.text).toBe(longText);
    const { firstSeenAt = 0 } = (await chat.entry('a')) ?? {};
    expect(event?.data.availableAt).toBeGreaterThanOrEqual(firstSeenAt + quick.addressedLongTextMs);
  });

  const eight = Array.from({ length: 8 }, (_, number) => ({ id: `e${number}`, text: `${number}`, fact: toIris }));
  const asked = 'im.message.addressed: "0\\n1\\n2\\n3\\n4\\n5\\n6\\n7" e0+e1+e2+e3+e4+e5+e6+e7';

  test('41: a ninth message closes the request of eight and opens another', async () => {
    const chat = talk('still');
    await chat.tell(...eight, { id: 'e8', text: '8', fact: toIris });
    await chat.ends();
    expect((await chat.events(1)).map(gist)).toEqual([asked]);
    expect(waiting(await chat.open())).toEqual([`addressed e8 +${still.addressedMs}`]);
  });

  test('42: what follows on a full request without a mention is a request too', async () => {
    const chat = talk('still');
    await chat.tell(...eight, { id: 'e8', text: 'and this' });
    expect((await chat.ends()).at(-1)).toBe('accepted');
    expect((await chat.events(1)).map(gist)).toEqual([asked]);
    expect(waiting(await chat.open())).toEqual([`addressed e8 +${still.addressedMs}`]);
  });

  test('43: a message of the same sender to somebody else closes the request and waits by itself', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'a', fact: toIris }, { id: 'b', text: 'b', fact: toMei });
    expect(await chat.ends()).toEqual(['accepted', 'recorded']);
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "a" a']);
    expect(waiting(await chat.open())).toEqual([`neutral b +${still.neutralMs}`]);
  });

  test('44: a reply to something else closes what waits', async () => {
    const chat = talk('still');
    await chat.tell(
      { id: 'a', text: 'a', fact: toIris },
      { id: 'b', text: 'b', fact: { ...toIris, ...replyTo('e-4') } },
    );
    expect(await chat.ends()).toEqual(['accepted', 'accepted']);
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "a" a']);
    expect(await chat.open()).toMatchObject([{ mode: 'addressed', replyToSourceEntryId: 'e-4' }]);
    expect(waiting(await chat.open())).toEqual([`addressed b +${still.addressedMs}`]);
  });

  test('45: a message told again under another event changes neither its batch nor its window', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'a', fact: toIris });
    await chat.ends();
    const once = await chat.open();
    await chat.tell({ id: 'a', event: 'again', text: 'a', fact: toIris });
    expect(await chat.ends()).toEqual(['accepted', 'accepted']);
    expect(await chat.open()).toEqual(once);
    expect(waiting(once)).toEqual([`addressed a +${still.addressedMs}`]);
  });

  test('46: an edit while it waits replaces the message and starts the window anew', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'tpyo', fact: { ...toIris, providerTime: t0 + 1_000 } });
    await chat.ends();
    const [before] = await chat.open();
    await chat.tell({ id: 'a', event: 'edit', text: 'fixed', fact: { ...toIris, providerTime: t0 + 2_000 } });
    expect(await chat.ends()).toEqual(['accepted', 'accepted']);
    const [after] = await chat.open();
    expect(after).toMatchObject({ id: before?.id, revision: 2, entries: [{ fact: { text: 'fixed' } }] });
    expect(after?.entries).toHaveLength(1);
    expect(waiting(await chat.open())).toEqual([`addressed a +${still.addressedMs}`]);
    expect(after?.dueAt).toBeGreaterThan(before?.dueAt ?? Number.POSITIVE_INFINITY);
    expect(await chat.entry('a')).toMatchObject({ text: 'fixed', providerTime: t0 + 2_000 });
  });

  test('47: a message told again after it was handed over is a duplicate, and refreshes the mirror alone', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: 'a', fact: { ...toIris, providerTime: t0 + 1_000 } });
    await chat.events(1);
    await chat.tell({ id: 'a', event: 'late', text: 'b', fact: { ...toIris, providerTime: t0 + 2_000 } });
    expect(await chat.ends()).toEqual(['accepted', 'duplicate']);
    expect(await chat.entry('a')).toMatchObject({ text: 'b', providerTime: t0 + 2_000 });
    expect(await chat.open()).toEqual([]);
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "a" a']);
  });

  test('49: a mention without text asks what was said before: its text is empty, the question is its context', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'q', text: 'why?', by: 'jonas' });
    await chat.ends();
    await chat.closed();
    await chat.tell({ id: 'a', fact: toIris });
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.addressed: "" a');
    expect(event?.data.channelContext).toEqual({
      messages: [{ sourceEntryId: 'q', author: { id: 'jonas', kind: 'user' }, text: 'why?' }],
    });
  });

  test("50: what the agent's own history shows is left out of its context, other agents' messages are not", async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: 'first question', fact: toIris });
    await chat.events(1);
    await chat.tell({ id: 'b', text: 'own answer', fact: byIris }, { id: 'c', text: 'another answer', fact: byOtto });
    expect(await chat.ends()).toEqual(['accepted', 'recorded', 'recorded']);
    await chat.closed();
    await chat.tell({ id: 'd', text: 'second question', fact: toIris });
    const [, event] = await chat.events(2);
    expect(event && gist(event)).toBe('im.message.addressed: "second question" d');
    expect(event?.data.channelContext?.messages.map(({ text }) => text)).toEqual(['another answer']);
  });

  test('51: a file that is being downloaded is waited for until its cap, and a finished one for as long as it took', async () => {
    const chat = talk('still');
    // So long ago that its window is over, and its cap is not.
    const observedAt = Date.now() - 3_300_000;
    const file = (state: string) => ({
      ...toIris,
      attachments: [{ providerRef: 'f:1', materialization: { state, observedAt } }],
    });
    await chat.tell({ id: 'a', fact: file('pending') });
    expect(await chat.ends()).toEqual(['accepted']);
    expect(await chat.open()).toMatchObject([{ dueAt: observedAt + still.pendingAttachmentMs }]);
    await chat.tell({ id: 'a', event: 'done', fact: file('complete') });
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.addressed: "" a');
    expect(event?.data.entry?.attachments).toEqual([
      { providerRef: 'f:1', materialization: { state: 'complete', observedAt } },
    ]);
  });

  test('52: a file that comes after its request was handed over is told in the place of the event, and once', async () => {
    const chat = talk('quick');
    const observedAt = Date.now();
    const file = (state: string) => ({
      ...toIris,
      attachments: [{ providerRef: 'f:1', materialization: { state, observedAt } }],
    });
    await chat.tell({ id: 'a', text: 'see', fact: file('pending') });
    const [request] = await chat.events(1);
    expect(request?.data.availableAt).toBeGreaterThanOrEqual(observedAt + quick.pendingAttachmentMs);
    expect(request?.data.entry?.attachments).toMatchObject([{ materialization: { state: 'pending' } }]);
    await chat.tell(
      { id: 'a', event: 'done', text: 'see', fact: file('complete') },
      { id: 'a', event: 'again', text: 'see', fact: file('complete') },
    );
    expect(await chat.ends()).toEqual(['accepted', 'input_superseded_refresh', 'duplicate']);
    const [, refresh] = await chat.events(2);
    expect(refresh).toMatchObject({
      type: 'signal.entry.edited',
      data: { availableAt: (await chat.entry('a'))?.lastSeenAt, session: request?.data.session },
    });
    expect(refresh?.data.lifecycle?.inputs).toMatchObject([
      {
        eventId: request?.id,
        replacement: {
          type: 'im.message.addressed',
          data: { entry: { text: 'see', attachments: [{ materialization: { state: 'complete' } }] } },
        },
      },
    ]);
  });

  test('53, 54: what nobody answered is what people said after the last word of the agent', async () => {
    const chat = talk('ambient');
    await chat.tell({ id: 'a', text: 'before' });
    await chat.events(1);
    await chat.tell({ id: 'b', text: 'answer', fact: byIris }, { id: 'c', text: 'after' });
    await chat.events(2);
    await chat.tell({ id: 'd', text: 'now', by: 'jonas' });
    const event = (await chat.events(3)).at(-1);
    expect(event && gist(event)).toBe('im.message.may_intervene: "now" d');
    expect(event?.data.unrepliedMessages).toEqual([
      { sourceEntryId: 'c', author: { id: 'mei', kind: 'user' }, text: 'after' },
    ]);
  });
});

describe.concurrent('quotes', () => {
  test('55: a reply to something unknown addresses nobody, and its batch remembers the target', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'a', fact: replyTo('e-4') });
    expect(await chat.ends()).toEqual(['recorded']);
    expect(await chat.open()).toMatchObject([
      {
        mode: 'neutral',
        replyToSourceEntryId: 'e-4',
        entries: [{ replyTo: { resolution: 'unresolved', sourceEntryId: 'e-4' } }],
      },
    ]);
  });

  test('56: a reply to the agent addresses it, and quotes what it said then', async () => {
    const chat = talk('quick');
    await chat.tell(
      { id: 'r', text: 'my answer', fact: { ...byIris, providerTime: t0 + 1_000 } },
      { id: 'a', text: 'really?', fact: replyTo('r') },
      { id: 'r', event: 'edit', text: 'changed', fact: { ...byIris, providerTime: t0 + 2_000 } },
    );
    expect(await chat.ends()).toEqual(['recorded', 'accepted', 'recorded']);
    const [event] = await chat.events(1);
    expect(event?.data.entry).toMatchObject({
      sourceEntryId: 'a',
      text: 'really?',
      replyTo: { sourceEntryId: 'r', resolution: 'resolved', role: 'agent', text: 'my answer' },
    });
    expect(await chat.entry('r')).toMatchObject({ text: 'changed' });
  });

  test('57: a reply in a thread that the agent wrote in addresses it, one in another thread does not', async () => {
    const chat = talk('quick');
    const inThread = (providerThreadId: string) => ({ providerThreadId, ...replyTo('unknown') });
    await chat.tell(
      { id: 'r', text: 'my answer', fact: { ...byIris, providerThreadId: 'th-z' } },
      { id: 'a', text: 'a', fact: inThread('th-z') },
      { id: 'b', text: 'b', by: 'jonas', fact: inThread('th-y') },
    );
    expect(await chat.ends()).toEqual(['recorded', 'accepted', 'recorded']);
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.addressed: "a" a');
    expect(event?.data.entry?.providerThreadId).toBe('th-z');
    await chat.closed();
  });

  test('58: a message with a file that another rule was given is quoted by its text alone', async () => {
    const chat = talk('mine');
    await chat.tell(
      { id: 'q', text: 'text', by: 'jonas', fact: { title: 'to otto', attachments: [{ providerRef: 'f:1' }] } },
      { id: 'a', text: 'a', fact: { ...toIris, ...replyTo('q') } },
    );
    const [event] = await chat.events(1);
    expect(event?.data.entry?.replyTo).toEqual({
      sourceEntryId: 'q',
      resolution: 'resolved',
      role: 'human',
      author: { id: 'jonas', kind: 'user' },
      text: 'text',
    });
    expect(await chat.entry('q')).toMatchObject({ attachments: [{ providerRef: 'f:1' }] });
  });
});

describe.concurrent('commands', () => {
  /** Gives a command where nothing would close by itself, and answers its event. */
  async function command(text: string, fact: Readonly<Record<string, unknown>> = {}) {
    const chat = talk('still');
    await chat.tell({ id: 'a', text, fact: { ...toIris, ...fact } });
    expect(await chat.ends()).toEqual(['accepted']);
    const [event] = await chat.events(1);
    const { firstSeenAt } = (await chat.entry('a')) ?? {};
    expect(await chat.open()).toEqual([]);
    expect(event?.data).toMatchObject({
      availableAt: firstSeenAt,
      session: { sessionId: `signal-channel:${chat.signalChannelId}` },
      entry: { text },
    });
    return { type: event?.type, ...event?.data.command };
  }

  test('70: a command is an event at once', async () => {
    const raw = '/compress last week';
    expect(await command(raw)).toEqual({ type: 'command.compress', name: 'compress', raw, argsText: 'last week' });
  });

  test('71: a steer waits in no batch', async () => {
    const raw = '/steer shorter';
    expect(await command(raw)).toEqual({ type: 'command.steer', name: 'steer', raw, argsText: 'shorter' });
  });

  test('72: an unknown name and a full-width slash are text', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: '/undo', fact: toIris }, { id: 'b', text: '／retry', fact: toIris });
    expect((await chat.events(1)).map(gist)).toEqual(['im.message.addressed: "/undo\\n／retry" a+b']);
  });

  test('73: a mention may stand before it, and full-width spaces and digits count as plain ones', async () => {
    const raw = '@iris /retry\u3000\uff13\nplease';
    const given = await command(raw, { structuredMentionPrefixes: ['@iris'] });
    expect(given).toMatchObject({ type: 'command.retry', name: 'retry', raw, argsText: '3\nplease' });
  });

  test('74: llm alone asks for help, with a profile it changes the model', async () => {
    const [help, change] = await Promise.all([command('/llm'), command('/llm Opus')]);
    expect(help).toEqual({ type: 'command.llm_help', name: 'llm_help', raw: '/llm', argsText: '' });
    expect(change).toEqual({
      ...{ type: 'command.llm', name: 'llm', raw: '/llm Opus' },
      ...{ argsText: '', modelProfile: 'opus' },
    });
  });

  test('75: a command in a line to nobody is text, and wakes nobody', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: '/stop' });
    expect(await chat.ends()).toEqual(['recorded']);
    await chat.closed();
    expect(await chat.events(0)).toEqual([]);
  });

  test('78, 79: a retry of what is not known says so', async () => {
    const given = await Promise.all([
      command('/retry actor-event::1', replyTo('unknown')),
      command('/retry', replyTo('unknown')),
    ]);
    expect(given).toMatchObject([{ targetActorEventId: null }, { targetActorEventId: null }]);
  });

  test('80: a bare retry has no target at all', async () => {
    expect(await command('/retry')).toEqual({ type: 'command.retry', name: 'retry', raw: '/retry', argsText: '' });
  });

  test('a command closes what its sender asked before it, and a stop overtakes it', async () => {
    const types = async (text: string, count: number) => {
      const chat = talk('still');
      await chat.tell({ id: 'a', text: 'question', fact: toIris }, { id: 'b', text, fact: toIris });
      await chat.ends();
      return [(await chat.events(count)).map(({ type }) => type), waiting(await chat.open()).length];
    };
    const [begun, stopped] = await Promise.all([types('/new', 2), types('/stop', 1)]);
    expect(begun).toEqual([['im.message.addressed', 'command.new'], 0]);
    expect(stopped).toEqual([['command.stop'], 1]);
  });
});

describe.concurrent('removal of what waits', () => {
  test('83: the removal of the only message takes its batch with it, and tells nobody', async () => {
    const chat = talk('still');
    await chat.tell({ id: 'a', text: 'a', fact: toIris }, removed('a'));
    expect(await chat.ends()).toEqual(['accepted', 'accepted']);
    expect(await chat.open()).toEqual([]);
    expect(await chat.entry('a')).toBeUndefined();
    expect(await chat.row('tombstones', ...chat.route, chat.signalChannelId, 'a')).toBeDefined();
    expect(await chat.events(0)).toEqual([]);
  });

  test('84: of two messages that ask nobody the one that stays is the event', async () => {
    const chat = talk('ambient');
    await chat.tell({ id: 'a', text: 'a' }, { id: 'b', text: 'b', by: 'jonas' }, removed('a'));
    const [event] = await chat.events(1);
    expect(event && gist(event)).toBe('im.message.may_intervene: "b" b');
    expect(event?.data.ambientBatch?.size).toBe(1);
    expect(JSON.stringify(event)).not.toContain('"a"');
  });

  test('85: without its mention, what is left addresses nobody and ends without an event', async () => {
    const facts = [{ id: 'a', text: 'a' }, { id: 'b', text: 'b', fact: toIris }, removed('b')];
    const waits = talk('still-ignore');
    await waits.tell(...facts);
    expect(await waits.ends()).toEqual(['ignored', 'accepted', 'accepted']);
    expect(await waits.open()).toMatchObject([{ mode: 'neutral', requesterSenderKey: null }]);
    expect(waiting(await waits.open())).toEqual([`neutral a +${still.neutralMs}`]);

    const chat = talk('quick-ignore');
    await chat.tell(...facts);
    await chat.ends();
    await chat.closed();
    expect(await chat.events(0)).toEqual([]);
    const last = chat.decisions().find(({ reason }) => reason === 'no_actor_event');
    expect(last).toMatchObject({ status: 'ignored' });
    expect(await chat.entry('a')).toBeUndefined();
  });

  /** What a removal was told as: of which entry, and what stands in the place of each event that held it. */
  const replaced = ({ type, data }: ActorEvent) => [
    type,
    data.entry?.sourceEntryId,
    data.lifecycle?.inputs.map(({ eventId, replacement }) => [eventId, replacement && gist(replacement)]),
  ];

  test('86, 87: a request whose only message is gone is told as gone, once, without its text', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: 'secret', fact: toIris });
    const [request] = await chat.events(1);
    await chat.tell(removed('a', { providerLifecycleKind: 'recalled' }));
    const [, event] = await chat.events(2);
    expect(event && replaced(event)).toEqual(['signal.entry.removed', 'a', [[request?.id, undefined]]]);
    expect(event?.data).toMatchObject({ session: request?.data.session, lifecycle: { providerKind: 'recalled' } });
    expect(JSON.stringify(event)).not.toContain('secret');
    expect(await chat.entry('a')).toBeUndefined();
  });

  test('88: of a request of two messages the one that is gone is told, and what remains takes its place', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: 'one', fact: toIris }, { id: 'b', text: 'two', fact: toIris });
    const [request] = await chat.events(1);
    expect(request && gist(request)).toBe('im.message.addressed: "one\\ntwo" a+b');
    await chat.tell(removed('a'));
    await chat.events(2);
    await chat.tell(removed('b'));
    const [, first, second] = await chat.events(3);
    expect([first, second].map((event) => event && replaced(event))).toEqual([
      ['signal.entry.removed', 'a', [[request?.id, 'im.message.addressed: "two" b']]],
      ['signal.entry.removed', 'b', [[request?.id, undefined]]],
    ]);
    expect(first?.subject).toBe('signal_gateway_entries:a');
    expect(await chat.ends()).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
  });

  test('90: the removal of a recorded message takes it from the mirror, and makes no event', async () => {
    const chat = talk('quick');
    await chat.tell({ id: 'a', text: 'a' });
    await chat.ends();
    await chat.closed();
    expect(await chat.entry('a')).toBeDefined();
    await chat.tell(removed('a'));
    expect(await chat.ends()).toEqual(['recorded', 'accepted']);
    expect(await chat.entry('a')).toBeUndefined();
    expect(await chat.row('tombstones', ...chat.route, chat.signalChannelId, 'a')).toBeDefined();
    expect(await chat.events(0)).toEqual([]);
  });
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { DeadLetter } from '../../schemas/dead-letter.ts';
import { readRows } from './checker/rows.ts';
import { type Conversation, reaction, removed } from './conversation.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { everyService, runServices, type ServiceProcess, stop, untilReady } from './product.ts';
import { githubHeaders, post, signedHeaders } from './webhooks.ts';

// All lines are told at once, each in a channel of its own, and what they wait for comes side by side.
vi.setConfig({ maxConcurrency: 100 });

const infrastructure = inject('infrastructure');
const run = `gate-${randomUUID().slice(0, 8)}`;
const [iris, otto] = [`${run}-iris`, `${run}-otto`];
const repository = `e2e/${run}`;
const channelOf = (issue: number): string => `github:${repository}#${issue}`;
const t0 = Date.parse('2031-03-04T10:00:00Z');
const patience = { timeout: 30_000, interval: 50 };

const bugs = [
  `signal.channel.id.startsWith('github:${repository}#')`,
  "signal.entry.text.matches('^bug [0-9]+$')",
  "signal.entry.author.displayName.contains('cat')",
  "signal.entry.author.kind in ['user', 'bot']",
].join(' && ');
/** What is said in chats waits, so that nothing happens but what a line says. */
const chat = { agentUid: iris, windows: { addressedMs: 3_600_000, neutralMs: 3_600_000 } };
const github = { agentUid: iris, adapter: 'github' };
const rules = {
  chat,
  talkative: { agentUid: iris, policy: 'may_intervene', windows: { addressedMs: 300, ambientMs: 300 } },
  explicit: { ...chat, cel: 'signal.entry.explicit == true && signal.entry.threadId == null' },
  replies: { ...chat, cel: "signal.entry.replyToSourceEntryId == 'e-parent'" },
  absent: { ...chat, cel: "signal.entry.nothing == 'x'" },
  text: { ...chat, cel: 'signal.entry.text' },
  desk: github,
  'desk-of-otto': { ...github, agentUid: otto, connection: 'desk' },
  allowed: { ...github, connection: 'filtered', cel: `signal.channel.id == '${channelOf(14)}'` },
  bugs: { ...github, connection: 'filtered', cel: bugs },
  unbound: { ...github, deleted: true },
  off: { ...github, enabled: false },
  revoked: { ...github, connection: 'off', unavailableReason: 'token revoked' },
  moving: { ...github, cel: "signal.kind == 'entry_received'" },
  standard: { agentUid: iris, adapter: 'standard-webhooks' },
} as const;

let gateway: Gateway;
let product: ServiceProcess;

beforeAll(async () => {
  gateway = await openGateway(infrastructure, run, rules);
  product = await runServices([...everyService, 'api'], gateway.settings);
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

/** What GitHub tells of a comment on an issue, and under which delivery. */
interface Comment {
  readonly id: number;
  readonly text?: string;
  readonly action?: string;
  readonly delivery?: string;
}

/** An issue of GitHub in a rule's repository: what is told there comes in as its webhooks. */
function issue(rule: string, number: number): Conversation & { readonly comment: (told: Comment) => Promise<string> } {
  const conversation = gateway.talk(rule, { signalChannelId: channelOf(number) });
  return {
    ...conversation,
    async comment({ id, text = 'Looks fine.', action = 'created', delivery = randomUUID() }) {
      const user = { id: 21031067, login: 'octocat', type: 'User' };
      const body = JSON.stringify({
        action,
        repository: { full_name: repository, private: false },
        sender: user,
        issue: { number, title: 'Spelling error', state: 'open' },
        comment: { id, user, body: text, updated_at: new Date(t0).toISOString() },
      });
      const url = `${product.ingressUrl}/webhooks/v1/github/${conversation.connectionId}/events`;
      const rootId = await post(url, githubHeaders('issue_comment', delivery, body), body);
      conversation.count(rootId);
      return rootId;
    },
  };
}

/** The projections of all rows that have a channel in their keys. */
async function rowsOf({ signalChannelId }: Conversation): Promise<readonly string[]> {
  const rows = await readRows(infrastructure.redisUrl, ['mirror-projector'], {
    concerns: (name) => name.endsWith(signalChannelId) || name.includes(`${signalChannelId}|`),
  });
  return [...rows.keys()].map((name) => /^[^/]+\/\d+\/([^:]+):/.exec(name)?.[1] ?? '').toSorted();
}

/** The dead letters of a conversation's facts. */
function lettersOf(conversation: Conversation): readonly DeadLetter[] {
  const roots = new Set(conversation.decisions().map(({ rootId }) => rootId));
  return gateway.watch
    .of('dead-letters')
    .map(({ value }) => DeadLetter.parse(value))
    .filter(({ rootId }) => roots.has(rootId));
}

describe.concurrent('what adapters send', () => {
  test('2: a channel that is no object is a dead letter, and nothing is written', () =>
    isRefused({ channel: 'war-room' }, 'invalid_ingress_channel_attrs'));

  test('5: so is a file that nobody could find later', () =>
    isRefused({ attachments: [{ hostFile: 'chart.png' }] }, 'attachment_not_materialized'));

  test('6: and one that is no file, of which no word is repeated', async () => {
    const attachments = [{ providerRef: 'f:1' }, { providerRef: 'f:2', sizeBytes: 'a secret' }];
    const [letter] = await isRefused({ attachments }, 'invalid_attachment_payload');
    expect(letter?.details).toMatchObject({ attachment: 1 });
    expect(JSON.stringify(letter?.details)).not.toContain('secret');
  });

  async function isRefused(fact: Readonly<Record<string, unknown>>, code: string): Promise<readonly DeadLetter[]> {
    const where = gateway.talk('chat');
    await where.tell({ id: 'a', text: 'a', fact });
    expect(await where.ends()).toEqual([code]);
    await gateway.watch.caughtUp();
    const letters = lettersOf(where);
    expect(letters).toMatchObject([{ code, stage: 'normalizer', topic: 'raw-provider-facts' }]);
    expect(await rowsOf(where)).toEqual([]);
    expect(await where.events(0)).toEqual([]);
    return letters;
  }

  test('24, 25: formatted content that is only the text is not kept, a card is, and is told to the agent', async () => {
    const where = gateway.talk('talkative', { kind: 'im_dm' });
    const card = { format: 'card', body: 'b', buttons: ['yes', 'no'] };
    await where.tell(
      { id: 'a', text: 'a', fact: { formattedContent: { format: 'markdown', body: 'a' }, providerThreadId: 'th-a' } },
      { id: 'b', text: 'b', fact: { formattedContent: card, providerThreadId: 'th-b' } },
    );
    const events = await where.events(2);
    const rich = events.map(({ data }) => [data.entry?.sourceEntryId, data.entry?.richContent]);
    expect(rich.toSorted()).toEqual([
      ['a', undefined],
      ['b', card],
    ]);
    expect(await where.entry('a')).not.toHaveProperty('richContent');
    expect(await where.entry('b')).toMatchObject({ richContent: card });
  });

  test('59, 65: a person whom the adapter knows asks as that person, and is whom a DM is with', async () => {
    const where = gateway.talk('talkative', { kind: 'im_dm' });
    const mei = { platformSubject: 'u-88', principalUid: 'mei', kind: 'user' };
    const echo = { id: 'b-1', kind: 'bot', agentUid: iris, principalUid: iris };
    await where.tell({ id: 'a', text: 'a', fact: { author: mei } }, { id: 'b', text: 'b', fact: { author: echo } });
    expect(await where.ends()).toEqual(['accepted', 'recorded']);
    expect(await where.events(1)).toMatchObject([{ data: { senderKey: 'mei', entry: { sourceEntryId: 'a' } } }]);
    expect((await where.entry('a'))?.author).toEqual({ id: 'u-88', kind: 'user', principalUid: 'mei' });
    expect((await where.channel())?.metadata).toEqual({ dmPeerPrincipalUid: 'mei' });
  });

  test('a click reaches the agent once, at once and with its sender', async () => {
    const where = gateway.talk('chat');
    const click = {
      type: 'action',
      actionId: 'approve',
      action: { value: 'yes' },
      actor: { id: 'u-88', kind: 'user' },
    };
    await where.tell({ id: 'card', event: 'click', fact: click });
    expect(await where.ends()).toEqual(['accepted']);
    expect(await where.events(1)).toMatchObject([
      {
        type: 'signal.action.invoked',
        subject: 'signal_actions:approve',
        data: { action: { id: 'approve', payload: { value: 'yes' }, sourceEntryId: 'card' }, senderKey: 'u-88' },
      },
    ]);
    expect(await where.entry('card')).toBeUndefined();
  });
});

describe.concurrent('routes', () => {
  test('8, 9: a rule that is unavailable says why, a disabled one says that; neither lets anything in', async () => {
    const where = issue('off', 8);
    await where.comment({ id: 1 });
    expect(await where.ends()).toEqual(['off binding_disabled', 'revoked binding_unavailable']);
    const unavailable = where.decisions().find(({ status }) => status === 'binding_unavailable');
    expect(unavailable?.reason).toBe('token revoked');
    expect(await rowsOf(where)).toEqual([]);
    expect(await where.events(0)).toEqual([]);
  });

  test('10: without a rule of its connection a fact goes nowhere, and that is told', async () => {
    const where = issue('unbound', 10);
    await where.comment({ id: 1 });
    expect(await where.ends()).toEqual(['binding_not_found']);
    expect(await rowsOf(where)).toEqual([]);
    expect(await where.events(0)).toEqual([]);
  });

  test('11: an entry of a webhook without a type is a dead letter, and nothing is written', async () => {
    const where = gateway.talk('chat', { kind: 'webhook_endpoint' });
    await where.tell({ id: 'a', text: 'a' });
    expect(await where.ends()).toEqual(['missing_actor_event_type']);
    await gateway.watch.caughtUp();
    expect(lettersOf(where)).toMatchObject([{ code: 'missing_actor_event_type', stage: 'mirror-projector' }]);
    expect(await rowsOf(where)).toEqual([]);
    expect(await where.events(0)).toEqual([]);
  });

  test('12: with one it is mirrored and becomes one event, available at once', async () => {
    const where = gateway.talk('chat', { kind: 'webhook_endpoint' });
    await where.tell({ id: 'a', text: 'a', fact: { actorEventType: 'alarm.raised' } });
    expect(await where.ends()).toEqual(['accepted']);
    const { text, firstSeenAt } = (await where.entry('a')) ?? {};
    expect(text).toBe('a');
    expect(await where.events(1)).toMatchObject([{ type: 'alarm.raised', data: { availableAt: firstSeenAt } }]);

    const connectionId = gateway.connectionId('standard');
    const webhooks = gateway.talk('standard', { signalChannelId: `standard-webhooks:${connectionId}` });
    const [id, body] = [randomUUID(), JSON.stringify({ type: 'invoice.paid', data: { amount: 12 } })];
    const url = `${product.ingressUrl}/webhooks/v1/standard-webhooks/${connectionId}/events`;
    webhooks.count(await post(url, signedHeaders(id, body), body));
    expect(await webhooks.ends()).toEqual(['accepted']);
    const entry = await webhooks.entry(id);
    expect(entry?.text).toBe(body);
    expect(await webhooks.events(1)).toMatchObject([
      { type: 'invoice.paid', id, data: { entry: { text: body }, availableAt: entry?.firstSeenAt } },
    ]);
  });

  test('66: two rules of two agents see one entry, and each agent gets an event of its own', async () => {
    const where = issue('desk', 66);
    await where.comment({ id: 1, delivery: `${run}-66` });
    expect(await where.ends()).toEqual(['desk accepted', 'desk-of-otto accepted']);
    const events = await where.events(2);
    expect(events.map(({ id, data }) => [data.session.agentUid, data.session.bindingName, id]).toSorted()).toEqual([
      [iris, 'desk', `${run}-66`],
      [otto, 'desk-of-otto', `${run}-66`],
    ]);
    expect((await rowsOf(where)).filter((name) => name === 'entries')).toHaveLength(1);
  });

  test('67: two ids are two entries, whatever they say', async () => {
    const where = issue('desk', 67);
    await where.comment({ id: 1 });
    await where.comment({ id: 2 });
    await where.ends();
    const [first, second] = [await where.entry('issue_comment:1'), await where.entry('issue_comment:2')];
    expect([first?.text, second?.text]).toEqual(['Looks fine.', 'Looks fine.']);
    expect(first?.documentId).not.toBe(second?.documentId);
    await where.events(4);
  });

  test('160: the same event again gives its agent nothing new', async () => {
    const where = issue('desk', 160);
    const again = { id: 1, delivery: `${run}-160` };
    await where.comment(again);
    await where.events(2);
    await where.comment(again);
    expect(await where.ends()).toEqual([
      ...['desk accepted', 'desk-of-otto accepted'],
      ...['desk duplicate', 'desk-of-otto duplicate'],
    ]);
    const reasons = where.decisions().flatMap(({ status, reason }) => (status === 'duplicate' ? [reason] : []));
    expect(reasons).toEqual(['same_event', 'same_event']);
    expect((await where.events(2)).map(({ id }) => id)).toEqual([`${run}-160`, `${run}-160`]);
  });
});

describe.concurrent('filters', () => {
  test('13, 14: a fact of another channel than the filter names leaves nothing; one of that channel goes on', async () => {
    const other = issue('allowed', 13);
    await other.comment({ id: 1 });
    expect(await other.ends()).toEqual(['allowed filtered', 'bugs filtered']);
    expect(await rowsOf(other)).toEqual([]);
    expect(await other.events(0)).toEqual([]);

    const named = issue('allowed', 14);
    await named.comment({ id: 1 });
    expect(await named.ends()).toEqual(['allowed accepted', 'bugs filtered']);
    expect(await named.entry('issue_comment:1')).toMatchObject({ text: 'Looks fine.' });
    expect(await named.events(1)).toMatchObject([{ data: { session: { agentUid: iris, bindingName: 'allowed' } } }]);
  });

  test('15: prefix, pattern, substring and membership combine as in CEL', async () => {
    const where = issue('bugs', 15);
    await where.comment({ id: 1, text: 'bug 7' });
    await where.comment({ id: 2, text: 'a bug 7' });
    expect(await where.ends()).toEqual(['allowed filtered', 'bugs accepted', 'allowed filtered', 'bugs filtered']);
    expect(await where.events(1)).toMatchObject([{ data: { entry: { text: 'bug 7' } } }]);
  });

  test('16: booleans and null keep their types', async () => {
    const where = gateway.talk('explicit');
    await where.tell(
      { id: 'a', text: 'a', fact: { explicit: true } },
      { id: 'b', text: 'b', fact: { explicit: true, providerThreadId: 'th-a' } },
      { id: 'c', text: 'c' },
    );
    expect(await where.ends()).toEqual(['accepted', 'filtered', 'filtered']);
  });

  test('17: a filter sees what an entry replies to', async () => {
    const where = gateway.talk('replies');
    await where.tell(
      { id: 'a', text: 'a', fact: { replyToSourceEntryId: 'e-parent' } },
      { id: 'b', text: 'b', fact: { replyToSourceEntryId: 'e-other' } },
    );
    expect(await where.ends()).toEqual(['recorded', 'filtered']);
  });

  test('18: a filter that reads an absent member is a dead letter, and nothing is written', async () => {
    await isInvalid(gateway.talk('absent'), 'absent');
  });

  test('21: so is one that gives something other than true or false', async () => {
    await isInvalid(gateway.talk('text'), 'text');
  });

  async function isInvalid(where: Conversation, name: string): Promise<void> {
    await where.tell({ id: 'a', text: 'a' });
    expect(await where.ends()).toEqual(['invalid_binding_filter']);
    await gateway.watch.caughtUp();
    expect(lettersOf(where)).toMatchObject([
      { code: 'invalid_binding_filter', stage: 'filter', part: `${iris}|${name}`, topic: 'normalized-facts' },
    ]);
    expect(await rowsOf(where)).toEqual([]);
    expect(await where.events(0)).toEqual([]);
  }
});

describe.concurrent('rules over HTTP', () => {
  const ask = (http: string, body?: unknown) => gateway.ask(product.apiUrl, http, body);

  async function cannotBeSaved(filters: unknown): Promise<void> {
    const put = `PUT /agents/${iris}-saver/signal-bindings/github/desk`;
    const refused = await ask(put, { connectionId: gateway.connectionId('desk'), filters });
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_binding_filter' } });
    expect((await ask(`GET /signal-bindings?agent=${iris}-saver`)).body).toEqual({ signalBindings: [] });
  }

  test('19: a filter of another shape than CEL cannot be saved', () =>
    cannotBeSaved({ eq: { 'signal.kind': 'action' } }));

  test.each([' ', 'signal.kind =='])('20: a blank or wrong expression cannot be saved: "%s"', (cel) =>
    cannotBeSaved({ cel }),
  );

  test('145: a rule that moves wakes its new agent and no more the old one, by the same filter and connection', async () => {
    const where = issue('moving', 145);
    await where.comment({ id: 1 });
    expect(await where.ends()).toEqual(['accepted']);
    await where.events(1);

    const moved = await ask(`PATCH /agents/${iris}/signal-bindings/moving`, { targetAgentUid: otto });
    expect(moved.status).toBe(200);
    const rule = { name: 'moving', connectionId: gateway.connectionId('moving'), filters: { cel: rules.moving.cel } };
    const [mine, theirs] = await Promise.all([
      ask(`GET /agents/${iris}/signal-bindings/moving`),
      ask(`GET /agents/${otto}/signal-bindings/moving`),
    ]);
    expect(mine.body).toMatchObject({ signalBinding: { ...rule, agentUid: iris, enabled: false } });
    expect(theirs.body).toMatchObject({ signalBinding: { ...rule, agentUid: otto, enabled: true } });

    // The filter learns of it through the log, a moment later; until then the old agent is woken.
    const later = issue('moving', 1_450);
    let comments = 0;
    const nextEnds = async () => {
      const rootId = await later.comment({ id: ++comments });
      const ends = () => later.decisions().filter((decision) => decision.rootId === rootId);
      await vi.waitUntil(() => ends().some(({ status }) => status === 'accepted'), patience);
      return ends().map(({ status, about }) => `${about.agentUid} ${status}`);
    };
    const ofOtto = [`${iris} binding_disabled`, `${otto} accepted`];
    await vi.waitUntil(async () => (await nextEnds()).at(-1) === ofOtto.at(-1), patience);
    expect((await nextEnds()).toSorted()).toEqual(ofOtto);
    // None of them woke nobody, and none woke both.
    const woken = (await later.events(comments)).map(({ data }) => [data.entry?.sourceEntryId, data.session.agentUid]);
    expect(new Set(woken.map(([entry]) => entry)).size).toBe(comments);
    expect(woken).toContainEqual([`issue_comment:${comments}`, otto]);
    expect(woken).toContainEqual([`issue_comment:${comments - 1}`, otto]);
  });
});

describe.concurrent('mirror', () => {
  test('68: metadata of two updates is merged key by key, and last seen never goes back', async () => {
    const where = gateway.talk('chat');
    await where.tell(
      { id: 'a', text: 'a', fact: { channel: { kind: 'im_group', metadata: { topic: 'one', deep: { a: 1 } } } } },
      { id: 'b', text: 'b', fact: { channel: { kind: 'im_group', metadata: { pinned: true, deep: { b: 2 } } } } },
    );
    await where.ends();
    const { metadata, firstSeenAt = 0, lastSeenAt = 0 } = (await where.channel()) ?? {};
    expect(metadata).toEqual({ topic: 'one', pinned: true, deep: { a: 1, b: 2 } });
    expect(lastSeenAt).toBeGreaterThanOrEqual(firstSeenAt);
    expect(lastSeenAt).toBe((await where.entry('b'))?.lastSeenAt);
  });

  test('150: of two updates the newer counts, also where it came first, and keys that it does not name stay', async () => {
    const where = gateway.talk('chat');
    const told = (name: string, at: number, metadata: object) => ({
      channel: { kind: 'im_group', name, metadata },
      providerTime: at,
    });
    await where.tell(
      { id: 'a', text: 'a', fact: told('New', t0 + 2_000, { topic: { title: 'new' } }) },
      { id: 'b', text: 'b', fact: told('Old', t0 + 1_000, { topic: { title: 'old', by: 'mei' }, pinned: true }) },
    );
    await where.ends();
    expect(await where.channel()).toMatchObject({
      name: 'New',
      metadata: { topic: { title: 'new', by: 'mei' }, pinned: true },
    });
  });

  test('69: a removal that says nothing of the channel leaves its name, kind, mode and metadata', async () => {
    const where = gateway.talk('chat');
    const named = { kind: 'im_group', replyMode: 'entry', name: 'War room', metadata: { topic: 'fire' } };
    await where.tell({ id: 'a', text: 'a', fact: { channel: named } }, removed('a', { channel: {} }));
    expect(await where.ends()).toEqual(['recorded', 'accepted']);
    expect(await where.channel()).toMatchObject({ ...named, id: where.signalChannelId });
    expect(await where.entry('a')).toBeUndefined();
  });

  test('93: an older revision leaves the entry and its reactions as they were', async () => {
    const where = gateway.talk('chat');
    await where.tell(
      { id: 'a', text: 'new', fact: { providerTime: t0 + 10_000 } },
      reaction('a', 'add', { event: 'r-1' }),
      {
        id: 'a',
        event: 'late',
        text: 'old',
        fact: { providerTime: 10_000 },
      },
    );
    expect(await where.ends()).toEqual(['recorded', 'mirrored', 'recorded']);
    expect(await where.entry('a')).toMatchObject({
      text: 'new',
      providerTime: t0 + 10_000,
      reactions: { thumbsup: ['mei'] },
    });
  });

  test('94: a reaction to an entry that is not there is ignored, and leaves nothing', async () => {
    const where = gateway.talk('chat');
    await where.tell(reaction('a', 'add', { event: 'r-1' }));
    expect(await where.ends()).toEqual(['ignored_unknown_entry']);
    expect(await rowsOf(where)).toEqual([]);
  });

  test('95: adding twice leaves one actor, and removing the last one leaves no key', async () => {
    const where = gateway.talk('chat');
    await where.tell(
      { id: 'a', text: 'a' },
      reaction('a', 'add', { event: 'r-1' }),
      reaction('a', 'add', { event: 'r-2' }),
    );
    expect(await where.ends()).toEqual(['recorded', 'mirrored', 'mirrored']);
    expect(await where.entry('a')).toMatchObject({ reactions: { thumbsup: ['mei'] } });
    await where.tell(reaction('a', 'remove', { event: 'r-3' }));
    await where.ends();
    expect((await where.entry('a'))?.reactions).toEqual({});
  });

  test('96: no reaction wakes anybody, not even where the agent may intervene', async () => {
    const where = gateway.talk('talkative');
    await where.tell({ id: 'a', text: 'a' }, reaction('a', 'add', { event: 'r-1' }));
    await where.events(1);
    await where.tell(reaction('a', 'remove', { event: 'r-2' }), reaction('a', 'add', { event: 'r-3', by: 'jonas' }));
    expect(await where.ends()).toEqual(['recorded', 'mirrored', 'mirrored', 'mirrored']);
    expect(await where.open()).toEqual([]);
    expect(await where.events(1)).toMatchObject([{ type: 'im.message.may_intervene' }]);
  });
});

describe.concurrent('removal', () => {
  test('81: an entry that comes after its removal is dropped: no entry, no event', async () => {
    const where = issue('desk', 81);
    await where.comment({ id: 1, action: 'deleted' });
    await where.comment({ id: 1 });
    expect(await where.ends()).toEqual([
      ...['desk accepted', 'desk-of-otto accepted'],
      ...['desk dropped_tombstoned', 'desk-of-otto dropped_tombstoned'],
    ]);
    expect(await rowsOf(where)).not.toContain('entries');
    expect(await where.events(0)).toEqual([]);
  });

  test('87: what both agents were given and is gone is told to each once, without its text', async () => {
    const where = issue('desk', 87);
    await where.comment({ id: 1, text: 'secret', delivery: `${run}-87` });
    await where.events(2);
    await where.comment({ id: 1, action: 'deleted', delivery: `${run}-87-deleted` });
    const told = (await where.events(4)).filter(({ type }) => type === 'signal.entry.removed');
    expect(told.map(({ data }) => data.session.agentUid).toSorted()).toEqual([iris, otto]);
    for (const { id, data } of told) {
      expect(id).toBe(`${run}-87-deleted:removed:signal-channel:${where.signalChannelId}`);
      expect(data.lifecycle).toEqual({
        kind: 'removed',
        providerKind: 'deleted',
        actor: { id: '21031067', displayName: 'octocat', kind: 'user' },
        inputs: [{ eventId: `${run}-87` }],
      });
      expect(data.entry).toMatchObject({ sourceEntryId: 'issue_comment:1' });
    }
    expect(JSON.stringify(told)).not.toContain('secret');
    expect(await where.entry('issue_comment:1')).toBeUndefined();
  });
});

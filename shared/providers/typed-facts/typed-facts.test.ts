import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NormalizedFact } from '../../../schemas/normalized-fact.ts';
import { ownershipOf } from '../../provider.ts';
import { Secret } from '../../secret.ts';
import { hmac } from '../../signature.ts';
import { deliveriesIn, golden } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';

const key = Buffer.from('testtesttesttesttesttesttesttest');
const webhookSecret = new Secret(`whsec_${key.toString('base64')}`);
const seconds = 1_930_384_800;

const normalize = (body: unknown, eventId: string | undefined = 'ev-1') =>
  provider.normalize({ event: undefined, eventId, connectionId: 'bridge', body }, { webhookSecret });
const identify = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  provider.identify(
    { kind: 'facts', connectionId: 'bridge', headers, query: {}, body: Buffer.from(JSON.stringify(body)) },
    { webhookSecret },
  );

const message = {
  type: 'entry_received',
  sourceEventId: 'ev-1',
  signalChannelId: 'chat:77',
  sourceEntryId: 'e-1',
  channel: { kind: 'im_group', replyMode: 'entry' },
  text: 'hello',
  author: { id: 'mei', kind: 'user' },
};
const factOf = (body: unknown): unknown => {
  const normalization = normalize(body);
  return normalization.type === 'facts' ? normalization.facts[0] : normalization;
};
const refusalOf = (body: unknown): unknown => {
  const normalization = normalize(body);
  return normalization.type === 'refused' ? [normalization.code, normalization.details] : normalization;
};

describe('examples', () => {
  const folder = new URL('./fixtures/', import.meta.url);
  const update = process.env.UPDATE_GOLDEN === '1';

  test.each(deliveriesIn(folder))('$name gives what its anchors say, and its golden facts', (delivery) => {
    const headers = { ...delivery.request.headers, 'webhook-timestamp': '1' };
    const identity = identify(delivery.body, headers);
    const normalization = normalize(delivery.body, identity?.eventId);
    expect(identity).toMatchObject({
      eventId: delivery.anchors.eventId,
      signalChannelId: delivery.anchors.channelId,
    });
    expect(normalization).toMatchObject({ facts: [{ sourceEntryId: delivery.anchors.entryId }] });
    const actual = JSON.parse(JSON.stringify({ identity, normalization }));
    expect(golden(new URL(`${delivery.name}.facts.json`, folder), actual, { update })).toStrictEqual(actual);
  });
});

describe('the proof', () => {
  const body = Buffer.from(JSON.stringify(message));
  const verify = (signature: string) =>
    provider.verify(
      {
        kind: 'facts',
        connectionId: 'bridge',
        headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': String(seconds), 'webhook-signature': signature },
        query: {},
        body,
      },
      { webhookSecret },
      seconds * 1_000,
    );
  const content = Buffer.concat([Buffer.from(`msg_1.${seconds}.`), body]);
  const genuine = `v1,${hmac({ algorithm: 'sha256', key, content, encoding: 'base64' })}`;

  test('is a signature of Standard Webhooks', () => {
    expect(verify(genuine)).toStrictEqual({ ok: true });
    expect(verify(`${genuine.slice(0, -3)}AA=`).ok).toBe(false);
  });
});

describe('what is no fact', () => {
  test.each([[null], ['text'], [42], [[message]]])('1: %j is no object, and refused as such', (body) => {
    expect(refusalOf(body)).toStrictEqual(['invalid_ingress_attrs', {}]);
  });

  test.each([['im_group'], [7], [[]]])(
    '2: a channel that is %j is refused, one that is null says nothing',
    (channel) => {
      expect(refusalOf({ ...message, channel })).toStrictEqual(['invalid_ingress_channel_attrs', {}]);
      expect(factOf({ ...message, channel: null })).toMatchObject({ channel: {} });
    },
  );

  test.each([
    ['file', 'body: invalid_type'],
    [{ providerRef: 9 }, 'providerRef'],
    [{ providerRef: 'f:9', sizeBytes: -1 }, 'sizeBytes'],
    [{ providerRef: 'f:9', materialization: { state: 'running', observedAt: 1 } }, 'materialization.state'],
  ])('6, 155: an attachment that is %j refuses the whole entry, and its values are not told', (attachment, place) => {
    const normalization = normalize({ ...message, attachments: [{ providerRef: 'f:1' }, attachment] });
    expect(normalization).toMatchObject({
      type: 'refused',
      code: 'invalid_attachment_payload',
      details: { attachment: 1, issues: expect.stringContaining(place) },
    });
  });

  test.each([
    ['entry_received', 'sourceEntryId'],
    ['entry_received', 'signalChannelId'],
    ['entry_lifecycle', 'sourceEntryId'],
    ['reaction', 'reactionKey'],
    ['reaction', 'actorKey'],
    ['action', 'actionId'],
  ])('a fact of type %s without %s is refused; a number or blanks are no text', (type, field) => {
    const whole = { ...message, type, reactionKey: 'eyes', actorKey: 'mei', actionId: 'a' };
    for (const value of [undefined, 42, '  ']) {
      expect(refusalOf({ ...whole, [field]: value })).toStrictEqual(['missing_required_text', { field }]);
    }
  });

  test('an action names its channel or its session', () => {
    const action = { type: 'action', sourceEventId: 'ev-1', actionId: 'a', action: {} };
    expect(refusalOf(action)).toStrictEqual(['missing_session_id', {}]);
    expect(factOf({ ...action, sessionId: 's-1' })).toMatchObject({
      sessionId: 's-1',
      signalChannelId: 'typed-facts:bridge:session:s-1',
    });
  });

  test('the two names of one event must not part, and names of the bus itself are not an adapter’s', () => {
    expect(normalize(message, 'ev-2')).toStrictEqual({
      type: 'invalid',
      issues: ['sourceEventId: not the eventId of its record'],
    });
    for (const actorEventType of ['command.stop', 'signal.entry.removed', 'im.message.addressed']) {
      expect(normalize({ ...message, actorEventType })).toStrictEqual({
        type: 'invalid',
        issues: ['actorEventType: reserved'],
      });
    }
    expect(factOf({ ...message, actorEventType: 'ticket.opened' })).toMatchObject({ actorEventType: 'ticket.opened' });
  });
});

describe('coercions', () => {
  test('texts are trimmed, lists may be one thing, flags have four spellings', () => {
    expect(
      factOf({
        ...message,
        text: ' hello\n',
        links: { url: 'https://example.com/' },
        mentions: null,
        explicit: '1',
        mirrorOnly: 'yes',
        metadata: 'none',
      }),
    ).toStrictEqual({
      type: 'entry_received',
      signalChannelId: 'typed-facts:bridge:chat:77',
      sourceEntryId: 'e-1',
      channel: { kind: 'im_group', replyMode: 'entry' },
      text: 'hello',
      author: { id: 'mei', kind: 'user' },
      links: [{ url: 'https://example.com/' }],
      explicit: true,
    });
  });

  test('a channel is told in its own object or flat, and its own object counts', () => {
    const flat = { channelKind: 'im_dm', replyMode: 'channel', channelName: 'Mei' };
    expect(factOf({ ...message, channel: undefined, ...flat })).toMatchObject({
      channel: { kind: 'im_dm', replyMode: 'channel', name: 'Mei' },
    });
    expect(factOf({ ...message, ...flat })).toMatchObject({ channel: { kind: 'im_group', replyMode: 'entry' } });
    expect(factOf({ ...message, channel: { kind: 'room', replyMode: 'thread' } })).toMatchObject({ channel: {} });
  });

  test('59: a sender is who the adapter says the person is, and the mirror keeps that', () => {
    const author = { platformSubject: 'u-88', externalId: 'x', id: 'y', displayName: 'Mei', principalUid: 'mei' };
    expect(factOf({ ...message, author })).toMatchObject({
      author: { id: 'u-88', kind: 'unknown', displayName: 'Mei', principalUid: 'mei' },
    });
    expect(factOf({ ...message, author: { displayName: 'Mei' } })).toMatchObject({
      author: { id: 'bridge', kind: 'app' },
    });
    expect(factOf({ ...message, author: { id: 'b-1', agentUid: ' Iris ' } })).toMatchObject({
      author: { id: 'b-1', kind: 'bot', agentUid: 'iris' },
    });
  });

  test.each([['2031-03-04T10:00:00Z'], ['2031-03-04T18:00:00+08:00'], [seconds], [seconds * 1_000]])(
    'the instant %j is read, and one that is no instant is left out',
    (providerTime) => {
      expect(factOf({ ...message, providerTime })).toMatchObject({ providerTime: seconds * 1_000 });
      expect(factOf({ ...message, providerTime: 'today' })).not.toHaveProperty('providerTime');
    },
  );
});

test('what is our own is told by its author or actor, but for what names the agent that wrote it: that is mirrored', () => {
  const ownershipIn = (body: object) => {
    const received = { event: undefined, eventId: 'ev-1', connectionId: 'bridge', body };
    const made = provider.normalize(received, { webhookSecret });
    const facts = made.type === 'facts' ? made.facts : [];
    return facts.map((fact) => ownershipOf(provider.origin(fact, received), { ownAccountIds: ['bot'] }));
  };
  const bot = { id: 'bot', kind: 'bot' };
  expect(ownershipIn(message)).toStrictEqual(['other']);
  expect(ownershipIn({ ...message, author: bot })).toStrictEqual(['own']);
  expect(ownershipIn({ ...message, author: { ...bot, agentUid: 'iris' } })).toStrictEqual(['other']);
  const { author: _author, text: _text, ...about } = message;
  const reacted = { ...about, type: 'reaction', reactionKey: 'eyes', action: 'add' };
  expect(ownershipIn({ ...reacted, actorKey: 'bot' })).toStrictEqual(['own']);
  expect(ownershipIn({ ...reacted, actorKey: 'mei' })).toStrictEqual(['other']);
});

test('no JSON makes it throw, and what it gives are facts of its own connection', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.jsonValue().map((text) => ({ ...message, text, channel: text })),
      ),
      (body) => {
        const normalization = normalize(body);
        if (normalization.type !== 'facts') return;
        for (const fact of normalization.facts) {
          const about = { connectionId: 'bridge', provider: 'typed-facts', sourceEventId: 'ev-1', receivedAt: 0 };
          expect(NormalizedFact.safeParse({ ...fact, ...about }).success).toBe(true);
          expect(fact.signalChannelId).toMatch(/^typed-facts:bridge:/);
        }
      },
    ),
  );
});

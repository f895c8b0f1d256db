import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NormalizedFact } from '../../../schemas/normalized-fact.ts';
import { ownershipOf } from '../../provider.ts';
import { Secret } from '../../secret.ts';
import { deliveriesIn, golden } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';
import { Mapping } from './mapping.ts';

const webhookSecret = new Secret('whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q=');
const normalize = (body: unknown, mapping?: Mapping, eventId: string | undefined = 'msg_1') =>
  provider.normalize(
    { event: undefined, eventId, connectionId: 'shop', body },
    { webhookSecret, ...(mapping !== undefined && { mapping: Mapping.parse(mapping) }) },
  );
const identify = (headers: Readonly<Record<string, string>>, body: string, mapping?: Mapping) =>
  provider.identify(
    { kind: 'events', connectionId: 'shop', headers, query: {}, body: Buffer.from(body) },
    { webhookSecret, ...(mapping !== undefined && { mapping: Mapping.parse(mapping) }) },
  );
const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' };

const order = {
  type: 'order.paid',
  timestamp: '2031-02-28T06:00:00Z',
  data: { orderId: 42, id: 'o-42', by: { id: 'u1', name: 'Iris' }, note: ' Leave it at the door.\n', lines: ['lamp'] },
};
const whole = {
  type: 'entry_received',
  signalChannelId: 'standard-webhooks:shop',
  sourceEntryId: 'msg_1',
  channel: { kind: 'webhook_endpoint', replyMode: 'none' },
  author: { id: 'shop', kind: 'app' },
  actorEventType: 'order.paid',
  text: JSON.stringify(order),
  providerTime: Date.UTC(2031, 1, 28, 6),
};

describe('recorded deliveries', () => {
  const folder = new URL('./fixtures/', import.meta.url);
  const update = process.env.UPDATE_GOLDEN === '1';
  const deliveries = deliveriesIn(folder);

  test('there are three of them', () => {
    expect(deliveries).toHaveLength(3);
  });

  test.each(deliveries)(
    '$name gives what its anchors say, and its golden facts',
    ({ name, request, body, anchors }) => {
      const signed = { ...request.headers, 'webhook-timestamp': '1' };
      const identity = identify(signed, JSON.stringify(body));
      const normalization = normalize(body, undefined, identity?.eventId);
      expect(identity).toEqual({
        eventId: anchors.dedupKey,
        event: anchors.eventType,
        signalChannelId: 'standard-webhooks:shop',
      });
      expect(normalization).toMatchObject({
        type: 'facts',
        facts: [
          {
            type: 'entry_received',
            channel: { kind: 'webhook_endpoint' },
            sourceEntryId: anchors.entryId,
            actorEventType: anchors.eventType,
            providerTime: Date.parse(String(anchors.revision)),
          },
        ],
      });
      const outcome = { identity, normalization };
      expect(outcome).toStrictEqual(golden(new URL(`${name}.facts.json`, folder), outcome, { update }));
    },
  );
});

describe('the identity', () => {
  test('is the id in the set of headers that carries the proof', () => {
    const svix = { 'svix-id': 'msg_2', 'svix-timestamp': '1', 'svix-signature': 'v1,AAAA', 'webhook-id': 'forged' };
    expect(identify(svix, '{}')?.eventId).toBe('msg_2');
    expect(identify({ ...headers, 'webhook-id': 'm'.repeat(201) }, '{}')).toBeUndefined();
    expect(identify({}, '{}')).toBeUndefined();
  });

  test('has the channel that the facts will have', () => {
    const mapping = { channelId: 'order:{data.orderId}' };
    expect(identify(headers, JSON.stringify(order), mapping)).toEqual({
      eventId: 'msg_1',
      event: 'order.paid',
      signalChannelId: 'standard-webhooks:shop:order:42',
    });
    expect(identify(headers, 'no JSON', mapping)).toEqual({ eventId: 'msg_1', event: 'standard-webhooks.event' });
  });
});

describe('without a mapping', () => {
  test('the whole body is an entry of the one channel of the connection', () => {
    expect(normalize(order)).toStrictEqual({ type: 'facts', facts: [whole] });
  });

  test.each([null, 7, 'text', [], { type: 5 }, { type: '' }, { type: { of: 'event' } }])(
    '%o is an unnamed event',
    (body) => {
      const { providerTime: _, ...timeless } = whole;
      const type = body !== null && typeof body === 'object' && 'type' in body && body.type === 5 ? '5' : undefined;
      expect(normalize(body)).toStrictEqual({
        type: 'facts',
        facts: [{ ...timeless, text: JSON.stringify(body), actorEventType: type ?? 'standard-webhooks.event' }],
      });
    },
  );

  test.each([
    ['Order/Paid v2', 'order_paid_v2'],
    ['command.stop', 'standard-webhooks.command.stop'],
    ['IM.message.addressed', 'standard-webhooks.im.message.addressed'],
    ['signal.entry.removed', 'standard-webhooks.signal.entry.removed'],
    ['command', 'command'],
  ])('the type %s wakes an agent as %s', (type, actorEventType) => {
    const body = { ...order, type };
    expect(normalize(body)).toStrictEqual({
      type: 'facts',
      facts: [{ ...whole, text: JSON.stringify(body), actorEventType }],
    });
  });

  test.each([
    [1_929_952_800, 1_929_952_800_000],
    [1_929_952_800.5, 1_929_952_800_500],
    [1_929_952_800_123, 1_929_952_800_123],
    ['2031-02-28T07:00:00.5+01:00', Date.UTC(2031, 1, 28, 6, 0, 0, 500)],
    ['2031-02-28T07:00:00', undefined],
    ['yesterday', undefined],
    [-1, undefined],
    [1e300, undefined],
    [null, undefined],
  ])('the time %o is %o', (timestamp, at) => {
    const { providerTime: _, ...timeless } = whole;
    const body = { ...order, timestamp };
    expect(normalize(body)).toStrictEqual({
      type: 'facts',
      facts: [{ ...timeless, text: JSON.stringify(body), ...(at !== undefined && { providerTime: at }) }],
    });
  });

  test('a published fact without the id of an event has no entry', () => {
    const event = { event: undefined, eventId: undefined, connectionId: 'shop', body: order };
    expect(provider.normalize(event, { webhookSecret })).toStrictEqual({
      type: 'invalid',
      issues: ['mapping.entryId: the id of the webhook is missing'],
    });
  });
});

describe('with a mapping', () => {
  const mapping: Mapping = {
    channelId: 'order:{data.orderId}',
    channelKind: 'issue',
    channelName: 'Order {data.orderId}',
    replyMode: 'channel',
    entryId: 'order:{data.id}',
    eventType: 'shop.{type}',
    title: '{data.lines.0}',
    text: '{data.note}',
    authorId: '{data.by.id}',
    authorName: '{data.by.name}',
    providerTime: 'timestamp',
    removedWhen: ['shop.order.deleted'],
  };
  const mapped = {
    signalChannelId: 'standard-webhooks:shop:order:42',
    sourceEntryId: 'order:o-42',
    channel: { kind: 'issue', replyMode: 'channel', name: 'Order 42' },
  };
  const author = { id: 'u1', kind: 'unknown', displayName: 'Iris' };

  test('every member of the fact is what the mapping says', () => {
    expect(normalize(order, mapping)).toStrictEqual({
      type: 'facts',
      facts: [
        {
          type: 'entry_received',
          ...mapped,
          author,
          actorEventType: 'shop.order.paid',
          title: 'lamp',
          text: ' Leave it at the door.\n',
          providerTime: Date.UTC(2031, 1, 28, 6),
        },
      ],
    });
  });

  test('what an account of our own wrote is told by the author that the mapping finds', () => {
    const ofOrder = (mapping: Mapping) => {
      const made = normalize(order, mapping);
      return made.type === 'facts' ? made.facts.map((fact) => provider.origin(fact, { ...event, body: order })) : [];
    };
    const event = { event: undefined, eventId: 'msg_1', connectionId: 'shop' };
    const [origin] = ofOrder({ authorId: '{data.by.id}' });
    expect(ownershipOf(origin ?? {}, { ownAccountIds: ['u1'] })).toBe('own');
    expect(ownershipOf(origin ?? {}, { ownAccountIds: ['u2'] })).toBe('other');
  });

  test('an event type in removedWhen removes the entry', () => {
    expect(normalize({ ...order, type: 'order.deleted' }, mapping)).toStrictEqual({
      type: 'facts',
      facts: [
        {
          type: 'entry_lifecycle',
          ...mapped,
          lifecycleKind: 'removed',
          providerLifecycleKind: 'shop.order.deleted',
          actor: author,
        },
      ],
    });
  });

  test('what describes the fact is left out where the body lacks it', () => {
    expect(normalize({ type: 'order.paid', data: { orderId: 42, id: 'o-42' } }, mapping)).toStrictEqual({
      type: 'facts',
      facts: [
        {
          type: 'entry_received',
          ...mapped,
          author: { id: 'shop', kind: 'app' },
          actorEventType: 'shop.order.paid',
        },
      ],
    });
  });

  test('what names the fact must be there, and the issues say what is missing', () => {
    expect(normalize({ data: { orderId: null, id: {} } }, mapping)).toStrictEqual({
      type: 'invalid',
      issues: [
        'mapping.channelId: data.orderId is missing',
        'mapping.entryId: data.id is missing',
        'mapping.eventType: type is missing',
      ],
    });
    expect(normalize({ type: 'x', data: { orderId: 'o'.repeat(500), id: 'o'.repeat(300) } }, mapping)).toStrictEqual({
      type: 'invalid',
      issues: ['mapping.channelId: too_big', 'mapping.entryId: too_big'],
    });
  });

  test('a path leads to members of the body only', () => {
    for (const channelId of ['{constructor.name}', '{__proto__.x}', '{data.toString.length}', '{type.length}']) {
      expect(normalize(order, { channelId })).toMatchObject({ type: 'invalid' });
    }
  });
});

test('any body is normalized without a throw, and what comes of it fits the contract', () => {
  const path = fc.constantFrom('type', 'data', 'data.id', 'timestamp', '0', 'data.0.id', '__proto__');
  const template = fc.array(
    fc.oneof(
      path.map((place) => `{${place}}`),
      fc.constantFrom('a', ':', '|', ' '),
    ),
    { minLength: 1, maxLength: 4 },
  );
  const text = template.map((parts) => parts.join(''));
  const mappings = fc.record(
    {
      channelId: text,
      channelName: text,
      entryId: text,
      eventType: text,
      title: text,
      text,
      authorId: text,
      authorName: text,
      providerTime: path,
      removedWhen: fc.constant(['x']),
    },
    { requiredKeys: ['entryId'] },
  );
  const value = fc.oneof(fc.string({ maxLength: 3_000 }), fc.string({ maxLength: 4 }), fc.jsonValue(), fc.double());
  const bodies = fc.oneof(
    fc.jsonValue(),
    fc.record({ type: value, timestamp: value, data: fc.oneof(fc.record({ id: value }), value) }),
  );
  const ids = { connectionId: 'shop', provider: 'standard-webhooks', sourceEventId: 'msg_1', receivedAt: 1 };
  fc.assert(
    fc.property(fc.option(mappings, { nil: undefined }), bodies, (mapping, value) => {
      // As text, since JSON has no NaN: the edge and the normalizer read the same.
      const body = JSON.stringify(value);
      const normalization = normalize(JSON.parse(body), mapping);
      const identity = identify(headers, body, mapping);
      if (normalization.type !== 'facts') return;
      for (const fact of normalization.facts) {
        NormalizedFact.parse({ ...fact, ...ids });
        expect(identity?.signalChannelId).toBe(fact.signalChannelId);
      }
    }),
    { numRuns: 500 },
  );
});

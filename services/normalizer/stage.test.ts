import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Connection, connections } from '../../schemas/connection.ts';
import { adapterFailures } from '../../schemas/connection-state.ts';
import { Attachment, exampleFact, NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { type RawProviderFact, rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { type AnyProvider, defineProvider, issuesOf, ownIds } from '../../shared/provider.ts';
import { secret } from '../../shared/secret.ts';
import { emit, outcome, put, type Reject, reject } from '../../shared/stage/index.ts';
import { messagesOf, splits } from '../../shared/testing/arbitraries.ts';
import { fold } from '../../shared/testing/fold.ts';
import { defaultAt, spec } from '../../shared/testing/spec.ts';
import { normalizer } from './normalizer.ts';
import { stage as realStage } from './stage.ts';

const Examples = z.array(z.object({ name: z.string(), examples: z.array(z.unknown()) }));
const examples = Examples.parse(createRequire(import.meta.url)('@octokit/webhooks-examples'));

const Body = z.object({ entries: z.array(z.string()), attachments: z.array(Attachment).optional() });
const config = z.strictObject({ prefix: z.string(), token: secret(), ...ownIds });

/** Says one entry for each text of its body, whose author that is; `quiet` events concern nobody, `odd` ones break it. */
const chat = defineProvider<z.infer<typeof config>>({
  name: 'chat',
  title: 'Chat',
  config,
  kinds: ['events'],
  keepHeaders: [],
  verify: () => ({ ok: true }),
  identify: () => undefined,
  normalize({ event, eventId, connectionId, body }, { prefix, token }) {
    if (event === 'quiet') return { type: 'ignored', reason: 'quiet events concern nobody' };
    if (event === 'odd') throw new TypeError('a body that says "swordfish"');
    const parsed = Body.safeParse(body);
    if (!parsed.success) return { type: 'invalid', issues: issuesOf(parsed.error) };
    const facts = parsed.data.entries.map((text, number) => ({
      type: 'entry_received' as const,
      signalChannelId: exampleFact.signalChannelId,
      sourceEntryId: exampleFact.sourceEntryId,
      channel: { name: `${prefix}${connectionId}` },
      text: `${text} ${number} of ${eventId} with ${typeof token}`,
      author: { id: text, kind: 'user' as const },
      actorEventType: 'chat.said',
      ...(parsed.data.attachments !== undefined && { attachments: parsed.data.attachments }),
    }));
    return { type: 'facts', facts };
  },
  origin: (fact, { event }) => ({
    by: event === 'edited' ? 'bot' : fact.type === 'entry_received' ? fact.author.id : undefined,
    writtenBy: fact.type === 'entry_received' ? fact.author.id : undefined,
  }),
});
const stage = normalizer(new Map<string, AnyProvider>([[chat.name, chat]]));
const { given } = spec(stage);

const connection: Connection = connections.value.parse({
  ...connections.example,
  id: 'hall',
  provider: 'chat',
  config: { prefix: 'room ' },
});
const rawOf = (members: Record<string, unknown> = {}): RawProviderFact =>
  rawProviderFacts.value.parse({
    id: 'raw-1',
    provider: 'chat',
    connectionId: 'hall',
    kind: 'events',
    eventId: 'ev-1',
    event: 'said',
    receivedAt: 1_929_952_800_000,
    body: '{"entries":["mei","jonas"]}',
    bodyEncoding: 'utf-8',
    ...members,
  });
const factOf = (members: Record<string, unknown>): NormalizedFact =>
  NormalizedFact.parse({
    type: 'entry_received',
    connectionId: 'hall',
    provider: 'chat',
    providerEventId: 'ev-1',
    receivedAt: 1_929_952_800_000,
    signalChannelId: exampleFact.signalChannelId,
    sourceEntryId: exampleFact.sourceEntryId,
    channel: { name: 'room hall' },
    actorEventType: 'chat.said',
    ...members,
  });

/** A delivery that could not be read: a dead letter, and the first failure of its row. */
const unread = (code: ErrorCode, details: Reject['details']) => [
  reject(code, details, { part: 'facts' }),
  put(adapterFailures.at('hall'), { failures: 1, since: defaultAt }, defaultAt + 7 * 86_400_000),
];

describe('a delivery', () => {
  test('becomes its facts, numbered, without the secrets of its connection', () => {
    given({ connections: [connection] })
      .when(rawOf())
      .then(
        emit(
          normalizedFacts,
          factOf({
            sourceEventId: 'ev-1',
            text: 'mei 0 of ev-1 with undefined',
            author: { id: 'mei', kind: 'user' },
          }),
          '0',
        ),
        emit(
          normalizedFacts,
          factOf({
            sourceEventId: 'ev-1#1',
            text: 'jonas 1 of ev-1 with undefined',
            author: { id: 'jonas', kind: 'user' },
          }),
          '1',
        ),
      );
  });

  test('without an event id of its provider is told apart by the id of its record', () => {
    const { providerEventId: _, ...fact } = factOf({
      sourceEventId: 'message-7',
      text: 'mei 0 of undefined with undefined',
      author: { id: 'mei', kind: 'user' },
    });
    given({ connections: [connection] })
      .when(rawOf({ eventId: undefined, body: '{"entries":["mei"]}' }), { id: 'message-7' })
      .then(emit(normalizedFacts, NormalizedFact.parse(fact), '0'));
  });

  test('is read from base64 too', () => {
    const body = Buffer.from('{"entries":["é"]}').toString('base64');
    const effects = given({ connections: [connection] })
      .when(rawOf({ body, bodyEncoding: 'base64' }))
      .effects();
    expect(effects).toHaveLength(1);
    expect(effects[0]).toMatchObject({ do: 'emit', value: { author: { id: 'é' } } });
  });

  test('that concerns nobody, or holds no fact, is ignored', () => {
    given({ connections: [connection] })
      .when(rawOf({ event: 'quiet' }))
      .then(outcome('ignored_unknown_event', { reason: 'quiet events concern nobody' }));
    given({ connections: [connection] })
      .when(rawOf({ body: '{"entries":[]}' }))
      .then(outcome('ignored_unknown_event', { reason: 'the event holds no fact' }));
  });
});

describe('refusals', () => {
  test('an unknown provider', () => {
    for (const provider of ['slack', '__proto__', 'constructor']) {
      given({ connections: [connection] })
        .when(rawOf({ provider }))
        .then(reject('provider-unknown', { provider }));
    }
  });

  test('a connection that does not exist, or belongs to another provider', () => {
    const refused = reject('connection-unknown', { connectionId: 'hall', provider: 'chat' });
    given({}).when(rawOf()).then(refused);
    given({ connections: [{ ...connection, provider: 'github' }] })
      .when(rawOf())
      .then(refused);
  });

  test('a connection whose settings do not fit its provider', () => {
    given({ connections: [{ ...connection, config: {} }] })
      .when(rawOf())
      .then(...unread('contract-violated', { connectionId: 'hall' }));
  });

  test('a body that is no JSON, no UTF-8, or not what the provider documents; its values are not told', () => {
    for (const [members, issues] of [
      [{ body: 'secret' }, 'body: not JSON'],
      [{ body: '' }, 'body: not JSON'],
      [{ body: Buffer.from([0xff, 0xfe]).toString('base64'), bodyEncoding: 'base64' }, 'body: not UTF-8'],
      [{ body: '{"entries":["mei",7]}' }, 'entries.1: invalid_type'],
      [{ body: 'null' }, 'body: invalid_type'],
    ] as const) {
      given({ connections: [connection] })
        .when(rawOf(members))
        .then(...unread('payload-invalid', { issues }));
    }
  });

  test('all facts of a delivery when one does not fit the contract of facts', () => {
    given({ connections: [connection] })
      .when(rawOf({ body: '{"entries":["mei",""]}' }))
      .then(...unread('payload-invalid', { issues: 'author.id: too_small' }));
  });

  test('5: all facts of a delivery when one has a file that nobody could find later', () => {
    const said = (...attachments: readonly object[]) =>
      given({ connections: [connection] }).when(rawOf({ body: JSON.stringify({ entries: ['mei'], attachments }) }));
    for (const lost of [{ hostFile: 'chart.png' }, { name: 'chart.png' }, { providerRef: ' ' }]) {
      said({ providerRef: 'f:9' }, lost).then(...unread('attachment_not_materialized', { fact: 0, attachment: 1 }));
    }
    for (const found of ['providerRef', 'providerFileId', 'providerUri', 'blobRef', 'storageRef', 'filePath']) {
      const attachments = [{ [found]: 'f:9', name: 'chart.png' }];
      expect(said(...attachments).effects()).toMatchObject([{ do: 'emit', value: { attachments } }]);
    }
  });

  test('a delivery of more facts than are taken', () => {
    given({ connections: [connection] })
      .when(rawOf(), { settings: { maxFacts: 1 } })
      .then(...unread('payload-invalid', { issues: 'body: 2 facts, at most 1 are taken' }));
  });

  test('a delivery on which its provider module throws, with where and never with what', () => {
    const effects = given({ connections: [connection] })
      .when(rawOf({ event: 'odd' }))
      .effects();
    expect(effects).toMatchObject([
      { do: 'reject', code: 'adapter-failed', details: { error: 'TypeError' }, part: 'facts' },
      { do: 'put', value: { failures: 1 } },
    ]);
    expect(JSON.stringify(effects)).toContain('normalizer/stage.test.ts');
    expect(JSON.stringify(effects)).not.toContain('swordfish');
  });
});

describe('what we wrote ourselves', () => {
  const bot = { ...connection, config: { ...connection.config, ownAccountIds: ['bot', 7] } };
  const own = outcome('ignored_own_message', { reason: 'it tells of what we wrote ourselves' });
  const entry = (text: string, number: number) => ({
    sourceEventId: number === 0 ? 'ev-1' : `ev-1#${number}`,
    text: `${text} ${number} of ev-1 with undefined`,
    author: { id: text, kind: 'user' },
  });

  test('becomes no fact, by who wrote it and not by its text', () => {
    given({ connections: [bot] })
      .when(rawOf({ body: '{"entries":["bot"]}' }))
      .then(own);
    given({ connections: [bot] })
      .when(rawOf({ body: '{"entries":["7"]}' }))
      .then(own);
    given({ connections: [bot] })
      .when(rawOf({ body: '{"entries":["robot"]}' }))
      .then(emit(normalizedFacts, factOf(entry('robot', 0)), '0'));
  });

  test('takes nothing from what others wrote in the same delivery, which keeps its numbers', () => {
    given({ connections: [bot] })
      .when(rawOf({ body: '{"entries":["bot","mei"]}' }))
      .then(emit(normalizedFacts, factOf(entry('mei', 1)), '1'));
  });

  test('is mirrored and wakes nobody where it changes what another wrote', () => {
    given({ connections: [bot] })
      .when(rawOf({ event: 'edited', body: '{"entries":["mei"]}' }))
      .then(emit(normalizedFacts, factOf({ ...entry('mei', 0), mirrorOnly: true }), '0'));
  });
});

test('on any split each delivery has exactly one end, or goes on as facts, the same on a repeat', () => {
  const delivery = fc
    .record({
      provider: fc.constantFrom('chat', 'chat', 'chat', 'slack'),
      connectionId: fc.constantFrom('hall', 'hall', 'cellar'),
      event: fc.constantFrom('said', 'said', 'quiet'),
      body: fc.constantFrom('{"entries":["mei","jonas"]}', '{"entries":["mei"]}', '{"entries":[]}', '{', '[]'),
    })
    .map(rawOf);
  fc.assert(
    fc.property(messagesOf(delivery), splits, (messages, sizes) => {
      const tables = { connections: [connection] };
      const whole = fold(stage, messages, { tables });
      expect(fold(stage, messages, { tables, splits: sizes })).toStrictEqual(whole);
      expect(fold(stage, [...messages, ...messages], { tables }).left).toStrictEqual([...whole.left, ...whole.left]);
      for (const { id } of messages) {
        const kinds = whole.left.filter(({ message }) => message === id).map(({ effect }) => effect.do);
        expect(kinds.length).toBeGreaterThan(0);
        expect(kinds.every((kind) => kind === 'emit') || kinds.length === 1).toBe(true);
      }
    }),
  );
});

test('each of the example payloads that GitHub publishes ends as facts or as ignored', () => {
  const payloads = examples.flatMap(({ name, examples: bodies }) => bodies.map((body) => ({ name, body })));
  const messages = payloads.map(({ name, body }, number) => ({
    id: `raw-${number}`,
    at: 1_929_952_800_000,
    value: rawOf({
      provider: 'github',
      connectionId: 'octo',
      eventId: `delivery-${number}`,
      event: name,
      body: JSON.stringify(body),
    }),
  }));
  const { left } = fold(realStage, messages, { tables: { connections: [connections.example] } });
  expect(messages.length).toBeGreaterThan(300);
  expect(new Set(left.map(({ message }) => message)).size).toBe(messages.length);
  expect(left.filter(({ effect }) => effect.do === 'reject')).toStrictEqual([]);
});

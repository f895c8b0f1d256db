import { describe, expect, test } from 'vitest';
import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { ActorEvent, actorEvents } from '../../schemas/actor-event.ts';
import { SessionId } from '../../schemas/ids.ts';
import {
  Channel,
  channels,
  Entry,
  entries,
  handledRevisions,
  reactionClocks,
  seenEvents,
  tombstones,
} from '../../schemas/mirror.ts';
import { type Effect, emit, outcome, put, reject, remove } from '../../shared/stage/index.ts';
import { fold } from '../../shared/testing/fold.ts';
import { spec, defaultAt as t0 } from '../../shared/testing/spec.ts';
import { interactionProtocol } from './interaction.ts';
import { stage } from './stage.ts';

const { given } = spec(stage);
const hour = 3_600_000;
const day = 24 * hour;

const entryAbout = {
  connectionId: 'octo',
  provider: 'github',
  providerEventId: 'ev-1',
  sourceEventId: 'ev-1',
  signalChannelId: 'github:octo/repo#7',
  sourceEntryId: 'e-1',
  channel: { kind: 'issue', replyMode: 'channel', name: 'Spelling error' },
  receivedAt: t0 - 50,
  providerTime: t0 - 1_000,
};
const written = {
  ...entryAbout,
  type: 'entry_received',
  text: 'new',
  author: { id: 'mei', kind: 'user' },
  actorEventType: 'github.issue_comment.created',
};

const acceptedOf = (fact: Record<string, unknown>, route: Record<string, unknown> = {}): AcceptedFact =>
  acceptedFacts.value.parse({ ...acceptedFacts.example, route: { ...acceptedFacts.example.route, ...route }, fact });
const received = (fact: Record<string, unknown> = {}, route: Record<string, unknown> = {}) =>
  acceptedOf({ ...written, ...fact }, route);
const removed = (fact: Record<string, unknown> = {}, route: Record<string, unknown> = {}) =>
  acceptedOf(
    { ...entryAbout, sourceEventId: 'ev-r', type: 'entry_lifecycle', lifecycleKind: 'removed', ...fact },
    route,
  );

const reacted = (fact: Record<string, unknown> = {}, route: Record<string, unknown> = {}) =>
  acceptedOf(
    {
      ...entryAbout,
      sourceEventId: 'ev-x',
      type: 'reaction',
      reactionKey: 'eyes',
      actorKey: 'mei',
      action: 'add',
      ...fact,
    },
    route,
  );
const acted = (fact: Record<string, unknown> = {}) =>
  acceptedOf({
    ...entryAbout,
    sourceEventId: 'ev-a',
    type: 'action',
    actionId: 'approve',
    action: { identifier: 'approve' },
    actor: { id: 'mei', kind: 'user' },
    ...fact,
  });

const ref = {
  agentUid: 'iris',
  bindingName: 'desk',
  signalChannelId: 'github:octo/repo#7',
  sourceEntryId: 'e-1',
};
const seen = (sourceEventId: string, at = t0) => put(seenEvents.at({ ...ref, sourceEventId }), { at }, at + 7 * day);

const messages = (...values: readonly AcceptedFact[]) =>
  values.map((value, number) => ({ id: `m${number}`, value, at: t0 + number }));
const rowsOf = (projection: string, rows: ReadonlyMap<string, unknown>) =>
  [...rows].filter(([name]) => name.startsWith(`${projection}:`)).map(([, value]) => value);
const statuses = (left: ReturnType<typeof fold>['left']) =>
  left.flatMap(({ effect }) => (effect.do === 'outcome' ? [effect.status] : []));

const channel = Channel.parse({
  id: 'github:octo/repo#7',
  kind: 'issue',
  replyMode: 'channel',
  name: 'Spelling error',
  visibility: null,
  metadata: {},
  providerTime: t0 - 1_000,
  firstSeenAt: t0,
  lastSeenAt: t0,
});
const entry = Entry.parse({
  signalChannelId: 'github:octo/repo#7',
  sourceEntryId: 'e-1',
  providerThreadId: null,
  replyToSourceEntryId: null,
  title: null,
  text: 'new',
  links: [],
  author: { id: 'mei', kind: 'user' },
  metadata: {},
  providerTime: t0 - 1_000,
  documentId: 'signal-gateway-entry:DlDPG1clu9ukQCW9KzXeQfxw2VA6ZE22kQEuhwv-x_g',
  contentHash: 'zM2PeCNreRF0L_iTUgLUe2sCQHMElcuyPWFmRqq_ZkM',
  firstSeenAt: t0,
  lastSeenAt: t0,
});
const revision = {
  contentHash: entry.contentHash,
  providerTime: t0 - 1_000,
  actorEventType: 'github.issue_comment.created',
};
/** What the index says of the event of the first entry. */
const given1 = { eventId: 'ev-1', type: 'github.issue_comment.created', at: t0 };
const event = ActorEvent.parse({
  specversion: '1.0',
  id: 'ev-1',
  source: 'signal://github/github%3Aocto%2Frepo%237',
  type: 'github.issue_comment.created',
  subject: 'signal_gateway_entries:e-1',
  time: '2031-03-04T10:00:00.000Z',
  datacontenttype: 'application/json',
  data: {
    session: { agentUid: 'iris', sessionId: 'signal-channel:github:octo/repo#7', bindingName: 'desk' },
    channel: { id: 'github:octo/repo#7', kind: 'issue', replyMode: 'channel', name: 'Spelling error' },
    entry: {
      signalChannelId: 'github:octo/repo#7',
      sourceEntryId: 'e-1',
      text: 'new',
      author: { id: 'mei', kind: 'user' },
      documentId: entry.documentId,
      providerTime: '2031-03-04T09:59:59.000Z',
    },
    senderKey: 'mei',
    availableAt: t0,
  },
});

const eventsOf = (effects: readonly Effect[]): readonly ActorEvent[] =>
  effects.flatMap((effect) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value)] : []));

describe('entries', () => {
  test('11: an entry without a declared event type is refused, and nothing is written', () => {
    const { actorEventType: _, ...untyped } = written;
    for (const kind of ['webhook_endpoint', 'issue', 'alert_stream', 'unknown']) {
      given({})
        .when(acceptedOf({ ...untyped, channel: { kind } }))
        .then(reject('missing_actor_event_type', { channelKind: kind }));
    }
  });

  test('12: a typed entry is mirrored and becomes one event, available now', () => {
    given({})
      .when(received())
      .then(
        put(channels.at(channel.id), channel),
        put(entries.at(ref), entry),
        put(handledRevisions.at(ref), { ...revision, inputs: [given1] }),
        seen('ev-1'),
        emit(actorEvents, event),
        outcome('accepted', { about: { actorEventId: 'ev-1' } }),
      );
  });

  test('an entry to mirror only is recorded, whatever type it names', () => {
    given({})
      .when(received({ mirrorOnly: true }))
      .then(
        put(channels.at(channel.id), channel),
        put(entries.at(ref), entry),
        put(handledRevisions.at(ref), { ...revision, actorEventType: null }),
        seen('ev-1'),
        outcome('recorded'),
      );
  });

  test('what an agent wrote itself is recorded and never wakes that agent, and wakes another', () => {
    const own = { author: { id: 'b-1', kind: 'bot', agentUid: 'iris' } };
    const ends = (agentUid: string) =>
      given({})
        .when(received(own, { agentUid }))
        .effects()
        .filter(({ do: kind }) => kind === 'emit' || kind === 'outcome')
        .map((effect) => (effect.do === 'outcome' ? effect.status : effect.do));
    expect(ends('iris')).toStrictEqual(['recorded']);
    expect(ends('otto')).toStrictEqual(['emit', 'accepted']);
  });

  test('160: the same event again on the same route is a duplicate and writes nothing', () => {
    given({ seen: { at: t0 - hour }, channel, entry })
      .when(received())
      .then(outcome('duplicate', { reason: 'same_event' }));
  });

  test('the same revision under another event id refreshes the mirror and wakes nobody', () => {
    given({ channel, entry, handled: revision })
      .when(received({ sourceEventId: 'ev-2' }), { at: t0 + hour })
      .then(
        put(channels.at(channel.id), { ...channel, lastSeenAt: t0 + hour }),
        put(entries.at(ref), { ...entry, lastSeenAt: t0 + hour }),
        put(handledRevisions.at(ref), revision),
        seen('ev-2', t0 + hour),
        outcome('duplicate', { reason: 'same_revision' }),
      );
  });

  test('a new event id with other content, time or type makes a second event', () => {
    for (const change of [
      { text: 'newer' },
      { providerTime: t0 },
      { actorEventType: 'github.issue_comment.edited' },
      { title: 'Title' },
      { links: [{ url: 'https://example.org' }] },
      { metadata: { state: 'open' } },
    ]) {
      const effects = given({ channel, entry, handled: revision })
        .when(received({ sourceEventId: 'ev-2', ...change }))
        .effects();
      expect(effects.at(-1)).toStrictEqual(outcome('accepted', { about: { actorEventId: 'ev-2' } }));
    }
  });

  test('an event tells all that its entry states, and leaves out the rest', () => {
    const links = [{ url: 'https://example.org/7', title: 'Seven' }];
    const more = { replyToSourceEntryId: 'e-0', providerThreadId: 'th-a', title: 'Title', links };
    const effects = given({})
      .when(received({ ...more, channel: { visibility: 'public' }, providerTime: undefined, text: undefined }))
      .effects();
    const { text: _text, providerTime: _time, ...rest } = event.data.entry ?? {};
    expect(effects).toContainEqual(
      emit(actorEvents, {
        ...event,
        data: {
          ...event.data,
          channel: { id: channel.id, kind: 'unknown', replyMode: 'none', visibility: 'public' },
          entry: ActorEvent.shape.data.shape.entry.parse({ ...rest, ...more }),
        },
      }),
    );
  });

  test('a channel id that is no well-formed text still becomes an event', () => {
    const effects = given({})
      .when(received({ signalChannelId: 'hook:\ud800' }))
      .effects();
    const sources = effects.flatMap((effect) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value).source] : []));
    expect(sources).toStrictEqual(['signal://github/hook%3A%EF%BF%BD']);
  });
});

describe('the shared mirror', () => {
  const events = (left: ReturnType<typeof fold>['left']) =>
    left.flatMap(({ effect }) => (effect.do === 'emit' ? [actorEvents.key(ActorEvent.parse(effect.value))] : []));

  test('66: two routes that see one message share one entry and give two events', () => {
    const { rows, left } = fold(stage, messages(received(), received({}, { agentUid: 'otto' })));
    expect(rowsOf('entries', rows)).toStrictEqual([{ ...entry, lastSeenAt: t0 + 1 }]);
    expect(rowsOf('channels', rows)).toStrictEqual([{ ...channel, lastSeenAt: t0 + 1 }]);
    expect(events(left)).toStrictEqual([
      'iris|signal-channel:github:octo/repo#7',
      'otto|signal-channel:github:octo/repo#7',
    ]);
  });

  test('67: two entry ids are two entries', () => {
    const { rows, left } = fold(stage, messages(received(), received({ sourceEntryId: 'e-2', sourceEventId: 'ev-2' })));
    expect(rowsOf('entries', rows)).toHaveLength(2);
    expect(events(left)).toHaveLength(2);
  });

  test('entries of two channels never share a row or a document id, however providers choose their ids', () => {
    const { rows } = fold(
      stage,
      messages(
        received({ signalChannelId: 'a|b', sourceEntryId: 'c' }),
        received({ signalChannelId: 'a', sourceEntryId: 'b|c', sourceEventId: 'ev-2' }),
      ),
    );
    const documentIds = rowsOf('entries', rows).map((row) => Entry.parse(row).documentId);
    expect(documentIds).toHaveLength(2);
    expect(new Set(documentIds).size).toBe(2);
  });

  test('69: a removal that says nothing of the channel leaves its name, kind, mode and metadata', () => {
    const rich = { ...channel, name: 'War room', replyMode: 'entry' as const, metadata: { labels: { bug: true } } };
    given({ channel: rich, entry, handled: revision })
      .when(removed({ channel: {} }), { at: t0 + hour })
      .then(
        put(channels.at(channel.id), { ...rich, lastSeenAt: t0 + hour }),
        put(tombstones.at(ref), { removedAt: t0 + hour }, t0 + hour + day),
        remove(entries.at(ref)),
        remove(reactionClocks.at(ref)),
        remove(handledRevisions.at(ref)),
        seen('ev-r', t0 + hour),
        outcome('accepted', { reason: 'entry_removed' }),
      );
  });

  test('68: metadata of two updates is merged key by key, and last seen never goes back', () => {
    const stored = { ...channel, metadata: { a: { x: 1, y: 1 }, kept: [1] }, lastSeenAt: t0 + hour };
    const effects = given({ channel: stored })
      .when(received({ channel: { kind: 'unknown', replyMode: 'none', metadata: { a: { y: 2 }, b: null } } }))
      .effects();
    expect(effects[0]).toStrictEqual(
      put(channels.at(channel.id), { ...stored, metadata: { a: { x: 1, y: 2 }, kept: [1], b: null } }),
    );
  });

  test('150: of two updates the newer counts, also where it came first, and keys that it does not name stay', () => {
    const newer = received({
      sourceEventId: 'new',
      providerTime: t0 + 2_000,
      channel: { kind: 'issue', name: 'New', metadata: { topic: { title: 'new' } } },
    });
    const older = received({
      sourceEventId: 'old',
      providerTime: t0 + 1_000,
      channel: { kind: 'issue', name: 'Old', metadata: { topic: { title: 'old', by: 'mei' }, pinned: true } },
    });
    const { rows } = fold(stage, messages(newer, older));
    expect(rowsOf('channels', rows)).toMatchObject([
      { name: 'New', metadata: { topic: { title: 'new', by: 'mei' }, pinned: true }, providerTime: t0 + 2_000 },
    ]);
  });

  test('65: a DM names the person on its other side, and what the agent writes there does not change that', () => {
    const mei = { id: 'u-88', kind: 'user', principalUid: 'mei' };
    const dm = (author: object) =>
      received({ channel: { kind: 'im_dm' }, author, sourceEventId: `by-${JSON.stringify(author)}` });
    const echo = { id: 'b-1', kind: 'bot', agentUid: 'iris', principalUid: 'iris' };
    const { rows } = fold(stage, messages(dm(mei), dm(echo)));
    expect(rowsOf('channels', rows)).toMatchObject([{ metadata: { dmPeerPrincipalUid: 'mei' } }]);
  });

  test('93: an older revision that comes late leaves the entry as it was', () => {
    const newer = { ...entry, providerTime: t0 + 10_000 };
    const effects = given({ channel, entry: newer, handled: { ...revision, providerTime: t0 + 10_000 } })
      .when(received({ text: 'old', providerTime: t0, sourceEventId: 'ev-2' }))
      .effects();
    expect(effects.map((effect) => (effect.do === 'put' ? effect.place.projection.name : effect.do))).toStrictEqual([
      'channels',
      'handled-revisions',
      'seen-events',
      'emit',
      'outcome',
    ]);
    // The agent has it now, too; the newest revision that was handled stays the one that it was.
    expect(effects[1]).toMatchObject({ value: { providerTime: t0 + 10_000, inputs: [{ eventId: 'ev-2' }] } });
  });

  test('equal times, or a missing one, are not stale: what came last stands, and first seen stays', () => {
    for (const [stored, incoming] of [
      [t0, t0],
      [null, t0],
      [t0, undefined],
    ]) {
      const effects = given({ channel, entry: { ...entry, providerTime: stored ?? null } })
        .when(received({ text: 'newer', providerTime: incoming }), { at: t0 + hour })
        .effects();
      const rows = effects.flatMap((effect) =>
        effect.do === 'put' && effect.place.projection.name === 'entries' ? [Entry.parse(effect.value)] : [],
      );
      expect(rows).toMatchObject([
        { text: 'newer', providerTime: incoming ?? null, firstSeenAt: t0, lastSeenAt: t0 + hour },
      ]);
    }
  });

  test('null members of the metadata are not kept', () => {
    const { rows } = fold(stage, messages(received({ metadata: { state: 'open', milestone: null } })));
    expect(rowsOf('entries', rows)).toMatchObject([{ metadata: { state: 'open' } }]);
  });
});

describe('removal', () => {
  const later = (...steps: readonly (readonly [AcceptedFact, number])[]) =>
    fold(
      stage,
      steps.map(([value, afterMs], number) => ({ id: `m${number}`, value, at: t0 + afterMs })),
    );
  test('81: an entry that comes after its removal is dropped: no entry, no event', () => {
    const { rows, left } = later([removed(), 0], [received(), 1_000]);
    expect(statuses(left)).toStrictEqual(['accepted', 'dropped_tombstoned']);
    expect([...rows.keys()]).toStrictEqual([
      'channels:github:octo/repo#7',
      'seen-events:iris|desk|ev-r',
      'tombstones:iris|desk|github:octo/repo#7|e-1',
    ]);
  });

  test('a removal on one route does not drop the entry on another', () => {
    const { left } = later([removed(), 0], [received({}, { agentUid: 'otto' }), 1_000]);
    expect(statuses(left)).toStrictEqual(['accepted', 'accepted']);
  });

  test('90: the removal of a recorded entry takes it from the mirror, and makes no event', () => {
    const { rows, left } = later([received({ mirrorOnly: true }), 0], [removed(), 1_000]);
    expect(statuses(left)).toStrictEqual(['recorded', 'accepted']);
    expect(left.filter(({ effect }) => effect.do === 'emit')).toStrictEqual([]);
    expect([...rows.keys()]).toStrictEqual([
      'channels:github:octo/repo#7',
      'seen-events:iris|desk|ev-1',
      'seen-events:iris|desk|ev-r',
      'tombstones:iris|desk|github:octo/repo#7|e-1',
    ]);
  });

  test('92: a tombstone of 24 hours is gone, and the event that it dropped counts as new', () => {
    const { left } = later([removed(), 0], [received(), day - 1], [received(), day]);
    expect(statuses(left)).toStrictEqual(['accepted', 'dropped_tombstoned', 'accepted']);
  });

  test('87: what the agent was given and is gone is told once, without its text, to the session that has it', () => {
    const deleted = { providerLifecycleKind: 'deleted', actor: { id: 'mo', kind: 'user' }, providerThreadId: 'th-a' };
    given({ channel, entry, handled: { ...revision, inputs: [given1] } })
      .when(removed(deleted), { at: t0 + hour })
      .then(
        put(channels.at(channel.id), { ...channel, lastSeenAt: t0 + hour }),
        put(tombstones.at(ref), { removedAt: t0 + hour }, t0 + hour + day),
        remove(entries.at(ref)),
        remove(reactionClocks.at(ref)),
        remove(handledRevisions.at(ref)),
        seen('ev-r', t0 + hour),
        emit(
          actorEvents,
          ActorEvent.parse({
            ...event,
            id: 'ev-r:removed:signal-channel:github:octo/repo#7',
            type: 'signal.entry.removed',
            time: '2031-03-04T11:00:00.000Z',
            data: {
              session: event.data.session,
              channel: event.data.channel,
              entry: {
                signalChannelId: 'github:octo/repo#7',
                sourceEntryId: 'e-1',
                providerThreadId: 'th-a',
                documentId: entry.documentId,
              },
              lifecycle: {
                kind: 'removed',
                providerKind: 'deleted',
                actor: deleted.actor,
                inputs: [{ eventId: 'ev-1' }],
              },
              availableAt: t0 + hour,
            },
          }),
        ),
        outcome('accepted', {
          reason: 'entry_removed',
          about: { actorEventId: 'ev-r:removed:signal-channel:github:octo/repo#7' },
        }),
      );
  });

  test('each session that has the entry is told by an event of its own id, which names what that session has', () => {
    const inputs = [
      given1,
      { ...given1, eventId: 'ev-2', sessionId: SessionId.parse('signal-channel:other') },
      { ...given1, eventId: 'ev-3' },
    ];
    const told = eventsOf(
      given({ channel, handled: { ...revision, inputs } })
        .when(removed())
        .effects(),
    );
    expect(told.map(({ id, data }) => [id, data.session.sessionId, data.lifecycle?.inputs])).toStrictEqual([
      [
        'ev-r:removed:signal-channel:github:octo/repo#7',
        'signal-channel:github:octo/repo#7',
        [{ eventId: 'ev-1' }, { eventId: 'ev-3' }],
      ],
      ['ev-r:removed:signal-channel:other', 'signal-channel:other', [{ eventId: 'ev-2' }]],
    ]);
  });

  test('each route tells its own agent, once, whoever took the entry from the mirror', () => {
    const otto = { agentUid: 'otto' };
    const { left } = later(
      [received(), 0],
      [received({}, otto), 1],
      [removed(), 2],
      [removed({}, otto), 3],
      [removed({ sourceEventId: 'ev-r2' }), 4],
    );
    const told = left.flatMap(({ message, effect }) => (effect.do === 'emit' ? [message] : []));
    expect(told).toStrictEqual(['m0', 'm1', 'm2', 'm3']);
    expect(statuses(left)).toStrictEqual(Array.from({ length: 5 }, () => 'accepted'));
  });

  test('after seven days, or what the setting says, nobody is told of what they were given', () => {
    const emitted = (left: ReturnType<typeof fold>['left']) => left.filter(({ effect }) => effect.do === 'emit').length;
    expect(emitted(later([received(), 0], [removed(), 7 * day - 1]).left)).toBe(2);
    expect(emitted(later([received(), 0], [removed(), 7 * day]).left)).toBe(1);
    const { left } = fold(
      stage,
      [
        { id: 'm0', value: received(), at: t0 },
        { id: 'm1', value: removed(), at: t0 + 60_000 },
      ],
      { settings: { inputRetentionMs: 60_000 } },
    );
    expect(emitted(left)).toBe(1);
  });

  test('of many events of one entry the newest eight are remembered', () => {
    const steps = Array.from({ length: 10 }, (_, at): readonly [AcceptedFact, number] => [
      received({ sourceEventId: `ev-${at}`, text: `${at}`, providerTime: undefined }),
      at,
    ]);
    const { left } = later(...steps, [removed(), 20]);
    const [told] = eventsOf(left.map(({ effect }) => effect)).slice(-1);
    expect(told?.data.lifecycle?.inputs.map(({ eventId }) => eventId)).toStrictEqual(
      [2, 3, 4, 5, 6, 7, 8, 9].map((each) => `ev-${each}`),
    );
  });

  test('a second removal refreshes the tombstone; the same one again is a duplicate', () => {
    const second = removed({ sourceEventId: 'ev-r2' });
    const { left } = later([removed(), 0], [removed(), 1], [second, day - 1], [received(), 2 * day - 2]);
    expect(statuses(left)).toStrictEqual(['accepted', 'duplicate', 'accepted', 'dropped_tombstoned']);
  });

  test('the retention settings hold', () => {
    const { rows } = fold(
      stage,
      [
        { id: 'm0', value: removed(), at: t0 },
        { id: 'm1', value: received({ sourceEntryId: 'e-2' }), at: t0 + 120_000 },
      ],
      { settings: { tombstoneRetentionMs: 60_000, seenRetentionMs: 120_000 } },
    );
    expect([...rows.keys()].filter((name) => /^(tombstones|seen-events):/.test(name))).toStrictEqual([
      'seen-events:iris|desk|ev-1',
    ]);
  });
});

describe('edits', () => {
  const edit = { sourceEventId: 'ev-2', text: 'fixed', edited: true, actorEventType: 'github.issue_comment.edited' };
  const editAt = { providerTime: t0 + 60_000 };
  const handled = { ...revision, inputs: [given1] };
  const content = ActorEvent.shape.data.shape.entry.parse({
    ...event.data.entry,
    text: 'fixed',
    providerTime: '2031-03-04T10:01:00.000Z',
  });
  const typesOf = (left: ReturnType<typeof fold>['left']) =>
    eventsOf(left.map(({ effect }) => effect)).map(({ type }) => type);

  test('an edit of what the agent was given is told as an edit, with what takes the place of each event', () => {
    const effects = given({ channel, entry, handled })
      .when(received({ ...edit, ...editAt }), { at: t0 + hour })
      .effects();
    const at = { time: '2031-03-04T11:00:00.000Z' };
    const data = { ...event.data, entry: content, availableAt: t0 + hour };
    expect(eventsOf(effects)).toStrictEqual([
      {
        ...event,
        ...at,
        id: 'ev-2:edited:signal-channel:github:octo/repo#7',
        type: 'signal.entry.edited',
        data: {
          ...data,
          lifecycle: {
            kind: 'edited',
            providerKind: 'github.issue_comment.edited',
            inputs: [{ eventId: 'ev-1', replacement: { ...event, ...at, id: 'retry:ev-1:with:ev-2', data } }],
          },
        },
      },
    ]);
    expect(effects.at(-1)).toStrictEqual(
      outcome('accepted', { about: { actorEventId: 'ev-2:edited:signal-channel:github:octo/repo#7' } }),
    );
    const rows = effects.flatMap((effect) => (effect.do === 'put' ? [effect] : []));
    expect(rows.map(({ place }) => place.projection.name)).toStrictEqual([
      'channels',
      'entries',
      'handled-revisions',
      'seen-events',
    ]);
    expect(rows[2]?.value).toMatchObject({ providerTime: t0 + 60_000, inputs: [{ ...given1, at: t0 + hour }] });
  });

  test('a later edit, and the removal, speak of the same event: what replaced it stands in its place', () => {
    const again = received({ ...edit, sourceEventId: 'ev-3', text: 'fixed again', providerTime: t0 + 120_000 });
    const { left } = fold(stage, messages(received(), received({ ...edit, ...editAt }), again, removed()));
    const told = eventsOf(left.map(({ effect }) => effect));
    expect(told.map(({ type }) => type)).toStrictEqual([
      'github.issue_comment.created',
      'signal.entry.edited',
      'signal.entry.edited',
      'signal.entry.removed',
    ]);
    expect(
      told.slice(1).map(({ data }) => data.lifecycle?.inputs.map((input) => [input.eventId, input.replacement?.id])),
    ).toStrictEqual([[['ev-1', 'retry:ev-1:with:ev-2']], [['ev-1', 'retry:ev-1:with:ev-3']], [['ev-1', undefined]]]);
  });

  test('where the binding wants none, an edit is a second event of its own type', () => {
    const effects = given({ channel, entry, handled })
      .when(received({ ...edit, ...editAt }, { entryEditedEvents: false }))
      .effects();
    expect(eventsOf(effects)).toMatchObject([{ id: 'ev-2', type: 'github.issue_comment.edited' }]);
  });

  test('what the agent was never given, or was given longer than seven days ago, is new to it', () => {
    for (const before of [{}, { ...revision, inputs: [{ ...given1, at: t0 - 7 * day }] }]) {
      const effects = given({ channel, entry, handled: { ...revision, ...before } })
        .when(received({ ...edit, ...editAt }))
        .effects();
      expect(eventsOf(effects)).toMatchObject([{ id: 'ev-2', type: 'github.issue_comment.edited' }]);
    }
  });

  test('an edit that another, newer one overtook is told to nobody', () => {
    const late = received({ ...edit, sourceEventId: 'ev-3', providerTime: t0 + 30_000 });
    const { left, rows } = fold(stage, messages(received(), received({ ...edit, ...editAt }), late));
    expect(typesOf(left)).toStrictEqual(['github.issue_comment.created', 'signal.entry.edited']);
    expect(left.at(-1)?.effect).toStrictEqual(outcome('duplicate', { reason: 'older_revision' }));
    expect(rows.get('entries:github:octo/repo#7|e-1')).toMatchObject({ text: 'fixed' });
  });

  test('an edit under another event id is a duplicate, and what is not an edit is something new', () => {
    const twice = received({ ...edit, ...editAt, sourceEventId: 'ev-3' });
    const closed = received({
      sourceEventId: 'ev-4',
      text: 'closed',
      actorEventType: 'tracker.ticket.closed',
      providerTime: undefined,
    });
    const { left } = fold(stage, messages(received(), received({ ...edit, ...editAt }), twice, closed, removed()));
    expect(typesOf(left)).toStrictEqual([
      'github.issue_comment.created',
      'signal.entry.edited',
      'tracker.ticket.closed',
      'signal.entry.removed',
    ]);
  });
});

describe('reactions', () => {
  const reactionsAfter = (...steps: readonly AcceptedFact[]) => {
    const { rows, left } = fold(
      stage,
      [received(), ...steps].map((value, number) => ({ id: `m${number}`, value, at: t0 + number })),
    );
    const shown = Entry.parse(rows.get('entries:github:octo/repo#7|e-1'));
    const statuses = left.flatMap(({ effect }) => (effect.do === 'outcome' ? [effect.status] : []));
    return { reactions: shown.reactions, rawReactionKeys: shown.rawReactionKeys, statuses: statuses.slice(1) };
  };
  let number = 0;
  const change = (action: 'add' | 'remove', fact: Record<string, unknown> = {}) =>
    reacted({ action, sourceEventId: `ev-x${number++}`, providerTime: undefined, ...fact });

  test('94: a reaction to an unknown entry is ignored, and not even remembered', () => {
    given({}).when(reacted()).then(outcome('ignored_unknown_entry'));
  });

  test('a reaction changes its entry and nothing else, and the channel least of all', () => {
    given({ entry })
      .when(reacted({ rawReactionKey: ':eyes:', providerTime: t0 }), { at: t0 + hour })
      .then(
        put(entries.at(ref), {
          ...entry,
          reactions: { eyes: ['mei'] },
          rawReactionKeys: { eyes: ':eyes:' },
          lastSeenAt: t0 + hour,
        }),
        put(reactionClocks.at(ref), { times: { eyes: { mei: t0 } } }, t0 + hour + 7 * day),
        seen('ev-x', t0 + hour),
        outcome('mirrored'),
      );
  });

  test('95: adding twice leaves one actor, and removing the last one leaves no key', () => {
    const added = reactionsAfter(change('add'), change('add'), change('add', { actorKey: 'jonas' }));
    expect(added.reactions).toStrictEqual({ eyes: ['jonas', 'mei'] });
    const { reactions, rawReactionKeys, statuses } = reactionsAfter(
      change('add'),
      change('add'),
      change('remove', { rawReactionKey: ':eyes:' }),
    );
    expect({ reactions, rawReactionKeys, statuses }).toStrictEqual({
      reactions: {},
      rawReactionKeys: { eyes: ':eyes:' },
      statuses: ['mirrored', 'mirrored', 'mirrored'],
    });
  });

  test('96: no reaction of any sort becomes an event', () => {
    for (const fact of [{}, { action: 'remove' }, { reactionKey: '__proto__' }, { channel: { kind: 'im_dm' } }]) {
      const effects = given({ entry }).when(reacted(fact)).effects();
      expect(effects.map((effect) => effect.do)).not.toContain('emit');
    }
  });

  test("of one actor's changes to one reaction the newest by the provider's time counts, in whatever order they come", () => {
    const older = change('add', { providerTime: t0 });
    const newer = change('remove', { providerTime: t0 + 1 });
    expect(reactionsAfter(older, newer).reactions).toStrictEqual({});
    const late = reactionsAfter(newer, older);
    expect(late).toMatchObject({ reactions: {}, statuses: ['mirrored', 'mirrored'] });
    expect(reactionsAfter(newer, older, change('add', { providerTime: t0 + 2 })).reactions).toStrictEqual({
      eyes: ['mei'],
    });
    expect(reactionsAfter(newer, change('add', { actorKey: 'jonas', providerTime: t0 })).reactions).toStrictEqual({
      eyes: ['jonas'],
    });
  });

  test('a change that comes late says so, and is a duplicate when it comes again', () => {
    given({ entry, clock: { times: { eyes: { mei: t0 } } } })
      .when(reacted({ providerTime: t0 - 1 }))
      .then(seen('ev-x'), outcome('mirrored', { reason: 'older_change' }));
    given({ seen: { at: t0 }, entry })
      .when(reacted())
      .then(outcome('duplicate', { reason: 'same_event' }));
  });

  test('without the time of one of two changes the last to come counts', () => {
    const timed = change('add', { providerTime: t0 + 9 });
    expect(reactionsAfter(timed, change('remove')).reactions).toStrictEqual({});
    expect(reactionsAfter(timed, change('remove'), change('add', { providerTime: t0 })).reactions).toStrictEqual({
      eyes: ['mei'],
    });
  });

  test('93: a revision, newer or older, leaves the reactions of its entry', () => {
    const older = received({ sourceEventId: 'ev-2', text: 'old', providerTime: t0 - 60_000 });
    const newer = received({ sourceEventId: 'ev-3', text: 'newest', providerTime: t0 });
    expect(reactionsAfter(change('add'), older).reactions).toStrictEqual({ eyes: ['mei'] });
    expect(reactionsAfter(change('add'), newer).reactions).toStrictEqual({ eyes: ['mei'] });
  });

  test('a removed entry loses its reactions and what was known of their times', () => {
    const effects = given({ entry: { ...entry, reactions: { eyes: ['mei'] } } })
      .when(removed())
      .effects();
    expect(effects).toContainEqual(remove(reactionClocks.at(ref)));
    expect(effects).toContainEqual(remove(entries.at(ref)));
  });
});

describe('actions', () => {
  const actionEvent = ActorEvent.parse({
    ...event,
    id: 'ev-a',
    type: 'signal.action.invoked',
    subject: 'signal_actions:approve',
    data: {
      session: event.data.session,
      channel: event.data.channel,
      action: {
        id: 'approve',
        payload: { identifier: 'approve' },
        sourceEntryId: 'e-1',
        actor: { id: 'mei', kind: 'user' },
      },
      senderKey: 'mei',
      availableAt: t0,
    },
  });
  const answer = {
    version: interactionProtocol,
    interactionId: 'i-1',
    controlId: 'c-1',
    revision: 0,
    optionId: 'yes',
    optionValue: 'Yes',
  };

  test('an action goes to the agent at once; the mirror keeps its channel and no entry', () => {
    given({})
      .when(acted())
      .then(
        put(channels.at(channel.id), channel),
        seen('ev-a'),
        emit(actorEvents, actionEvent),
        outcome('accepted', { about: { actorEventId: 'ev-a' } }),
      );
  });

  test('an action that names a session goes there, and one that names a type is of that type', () => {
    const effects = given({ channel })
      .when(
        acted({ sessionId: 'signal-channel:other', actorEventType: 'github.check_run.requested', actor: undefined }),
      )
      .effects();
    const [made] = effects.flatMap((effect) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value)] : []));
    expect(made?.type).toBe('github.check_run.requested');
    expect(made?.data.session).toStrictEqual({ ...event.data.session, sessionId: 'signal-channel:other' });
    expect(made?.data.senderKey).toBeUndefined();
  });

  test('the same action again is a duplicate, another click is another event', () => {
    const { left } = fold(
      stage,
      [acted(), acted(), acted({ sourceEventId: 'ev-b' })].map((value, at) => ({ id: `m${at}`, value, at: t0 + at })),
    );
    expect(left.flatMap(({ effect }) => (effect.do === 'outcome' ? [effect.status] : []))).toStrictEqual([
      'accepted',
      'duplicate',
      'accepted',
    ]);
    expect(left.filter(({ effect }) => effect.do === 'emit')).toHaveLength(2);
  });

  test('an answer to a control of ours that nobody offered is stale, whatever it says, and wakes nobody', () => {
    const { optionId: _i, optionValue: _v, ...control } = answer;
    for (const value of [answer, { ...control, inputName: 'reason', formValue: { reason: ' yes, use it ' } }]) {
      given({})
        .when(acted({ action: { value } }))
        .then(
          put(channels.at(channel.id), channel),
          seen('ev-a'),
          outcome('stale_action', { reason: 'unknown_interaction' }),
        );
    }
  });

  test('97: an answer to a control of ours that is delivered again is a duplicate action', () => {
    const told = acted({ action: { value: answer } });
    const { left } = fold(stage, messages(told, told));
    expect(statuses(left)).toStrictEqual(['stale_action', 'duplicate_action']);
  });

  test('an answer to a control of ours that lacks what one has is refused, and nothing is written', () => {
    given({})
      .when(acted({ action: { value: { ...answer, controlId: '' } } }))
      .then(reject('invalid_reply_interaction', { issue: 'controlId: too_small' }));
    const { optionValue: _, ...half } = answer;
    const effects = given({})
      .when(acted({ action: { value: half } }))
      .effects();
    expect(effects).toMatchObject([{ do: 'reject', code: 'invalid_reply_interaction' }]);
  });

  test("an action under another protocol, or none, is nobody else's to decide", () => {
    for (const action of [{}, { value: 'yes' }, { value: [answer] }, { value: { ...answer, version: 'v9' } }]) {
      const effects = given({}).when(acted({ action })).effects();
      expect(effects.at(-1)).toStrictEqual(outcome('accepted', { about: { actorEventId: 'ev-a' } }));
    }
  });
});

describe('what few entries have', () => {
  const shownOf = (fact: Record<string, unknown>) => {
    const [row] = given({})
      .when(received(fact))
      .effects()
      .flatMap((effect) =>
        effect.do === 'put' && effect.place.projection.name === 'entries' ? [Entry.parse(effect.value)] : [],
      );
    return row;
  };

  test('24: formatted content that is only the text as Markdown is not kept', () => {
    expect(shownOf({ formattedContent: { format: 'markdown', body: 'new' } })).toStrictEqual(entry);
    expect(shownOf({ formattedContent: {} })).toStrictEqual(entry);
  });

  test('25: formatted content of a card is kept as it is, and told to the agent', () => {
    for (const card of [
      { format: 'markdown', body: '*new*' },
      { format: 'markdown', body: 'new', color: 'red' },
      { blocks: [{ type: 'header' }] },
    ]) {
      expect(shownOf({ formattedContent: card })).toMatchObject({ richContent: card });
      const effects = given({})
        .when(received({ formattedContent: card }))
        .effects();
      expect(effects).toContainEqual(
        emit(actorEvents, {
          ...event,
          data: {
            ...event.data,
            entry: ActorEvent.shape.data.shape.entry.parse({ ...event.data.entry, richContent: card }),
          },
        }),
      );
    }
  });

  test('attachments and mentions are mirrored and told, and change the revision', () => {
    const attachments = [{ providerRef: 'f:9', name: 'chart.png' }];
    const mentions = [{ kind: 'agent', agentUid: 'iris', structured: true }];
    const shown = shownOf({ attachments, mentions, sentAt: t0 - 9 });
    expect(shown).toMatchObject({ attachments, mentions, sentAt: t0 - 9 });
    expect(shown?.contentHash).not.toBe(entry.contentHash);
    const effects = given({})
      .when(received({ attachments, mentions, senderKey: 'principal:mei' }))
      .effects();
    const [made] = effects.flatMap((effect) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value)] : []));
    expect(made?.data).toMatchObject({ entry: { attachments }, mentions, senderKey: 'principal:mei' });
  });

  test('empty lists are as good as none', () => {
    expect(shownOf({ attachments: [], mentions: [], links: [] })).toStrictEqual(entry);
  });
});

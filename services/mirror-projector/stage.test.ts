import { describe, expect, test } from 'vitest';
import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { ActorEvent, actorEvents } from '../../schemas/actor-event.ts';
import { Channel, channels, Entry, entries, handledRevisions, seenEvents, tombstones } from '../../schemas/mirror.ts';
import { emit, outcome, put, reject, remove } from '../../shared/stage/index.ts';
import { fold } from '../../shared/testing/fold.ts';
import { spec, defaultAt as t0 } from '../../shared/testing/spec.ts';
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

const ref = {
  agentUid: 'iris',
  bindingName: 'desk',
  signalChannelId: 'github:octo/repo#7',
  sourceEntryId: 'e-1',
};
const seen = (sourceEventId: string, at = t0) => put(seenEvents.at({ ...ref, sourceEventId }), { at }, at + 7 * day);

const channel = Channel.parse({
  id: 'github:octo/repo#7',
  kind: 'issue',
  replyMode: 'channel',
  name: 'Spelling error',
  visibility: null,
  metadata: {},
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

describe('entries', () => {
  test('11: an entry without a declared event type is refused, and nothing is written', () => {
    const { actorEventType: _, ...untyped } = written;
    for (const kind of ['webhook_endpoint', 'im_dm', 'im_group']) {
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
        put(handledRevisions.at(ref), revision),
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

  test('the same event again on the same route is a duplicate and writes nothing', () => {
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
  const messages = (...values: readonly AcceptedFact[]) =>
    values.map((value, number) => ({ id: `m${number}`, value, at: t0 + number }));
  const rowsOf = (projection: string, rows: ReadonlyMap<string, unknown>) =>
    [...rows].filter(([name]) => name.startsWith(`${projection}:`)).map(([, value]) => value);
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

  test('93: an older revision that comes late leaves the entry as it was', () => {
    const newer = { ...entry, providerTime: t0 + 10_000 };
    const effects = given({ channel, entry: newer, handled: { ...revision, providerTime: t0 + 10_000 } })
      .when(received({ text: 'old', providerTime: t0, sourceEventId: 'ev-2' }))
      .effects();
    expect(effects.map((effect) => (effect.do === 'put' ? effect.place.projection.name : effect.do))).toStrictEqual([
      'channels',
      'seen-events',
      'emit',
      'outcome',
    ]);
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
  const statuses = (left: ReturnType<typeof fold>['left']) =>
    left.flatMap(({ effect }) => (effect.do === 'outcome' ? [effect.status] : []));

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

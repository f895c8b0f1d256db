import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptedFacts, FactAccepted } from '../../schemas/accepted-fact.ts';
import { ActorEvent, actorEvents } from '../../schemas/actor-event.ts';
import { Channel, channels, Entry, entries } from '../../schemas/mirror.ts';
import { exampleFact } from '../../schemas/normalized-fact.ts';
import { messagesOf, normalizedFact, splits } from '../../shared/testing/arbitraries.ts';
import { type FoldMessage, fold, type Left } from '../../shared/testing/fold.ts';
import { stage } from './stage.ts';

const day = 86_400_000;
const week = 7 * day;
const settings = { seenRetentionMs: week, tombstoneRetentionMs: day, inputRetentionMs: week };

const accepted: fc.Arbitrary<FactAccepted> = fc
  .record({ fact: normalizedFact, agentUid: fc.constantFrom('iris', 'otto') })
  .map(({ fact, agentUid }) =>
    FactAccepted.parse({
      ...acceptedFacts.example,
      route: { ...acceptedFacts.example.route, agentUid },
      fact,
    }),
  );
const messages = messagesOf(accepted);

/** All that happens, happens to one entry on one route, and nothing comes twice: so that a lot does happen to it. */
const oneEntry = messages.map((history) =>
  history.map((message, number) => {
    const { signalChannelId, sourceEntryId } = exampleFact;
    const { route } = acceptedFacts.example;
    const fact = { ...message.value.fact, signalChannelId, sourceEntryId, sourceEventId: `event-${number}` };
    return { ...message, value: FactAccepted.parse({ ...message.value, route, fact }) };
  }),
);

const endsOf = (left: readonly Left[]) =>
  left.flatMap(({ message, effect }) => {
    if (effect.do === 'emit') return [];
    return [{ message, end: effect.do === 'outcome' ? effect.status : effect.code }];
  });

interface Shown {
  readonly text: string | null;
  readonly title: string | null;
  readonly time: number | null;
  readonly first: number;
  readonly last: number;
}

interface Handled {
  readonly content: string;
  readonly time: number | null;
  readonly type: string | null;
}

interface Change {
  readonly action: 'add' | 'remove';
  readonly time: number | null;
}

const isBefore = (time: number | null, other: number | null | undefined): boolean =>
  time !== null && other !== null && other !== undefined && time < other;

/**
 * What each message comes to, what the mirror shows and what agents are told, said as plainly as can be: lists that are
 * searched from the start, and no rows that expire.
 */
function naive(history: readonly FoldMessage<FactAccepted>[]) {
  const seen: { route: string; event: string; at: number }[] = [];
  const removals: { route: string; entry: string; at: number }[] = [];
  const shown = new Map<string, Shown>();
  const handled = new Map<string, Handled>();
  const given = new Map<string, { event: string; at: number }[]>();
  const reactions = new Map<string, Map<string, Change>>();
  const reactedAt = new Map<string, number>();
  const channelTimes = new Map<string, number[]>();
  const ends: string[] = [];
  const told: string[] = [];

  const become = ({ value, at }: FoldMessage<FactAccepted>): string => {
    const { fact } = value;
    const route = value.route.agentUid;
    const entry = entries.at({ ...fact, sourceEntryId: fact.sourceEntryId ?? '' }).key;
    const routed = `${route} ${entry}`;
    const within = (since: number, retentionMs: number) => at - since < retentionMs;
    const handle = () => {
      seen.push({ route, event: fact.sourceEventId, at });
      channelTimes.set(fact.signalChannelId, [...(channelTimes.get(fact.signalChannelId) ?? []), at]);
    };
    const tell = (type: string, inputs: readonly { event: string }[] = []) =>
      told.push(`${route} ${fact.sourceEventId} ${type} ${inputs.map(({ event }) => event)}`);

    if (seen.some((one) => one.route === route && one.event === fact.sourceEventId && within(one.at, week))) {
      return 'duplicate';
    }
    const inputs = (given.get(routed) ?? []).filter((one) => within(one.at, week));
    const time = fact.providerTime ?? null;
    switch (fact.type) {
      case 'action':
        handle();
        tell('signal.action.invoked');
        return 'accepted';
      case 'entry_lifecycle':
        handle();
        removals.push({ route, entry, at });
        if (inputs.length > 0) tell('signal.entry.removed', inputs);
        for (const each of [shown, reactions, reactedAt]) each.delete(entry);
        for (const each of [handled, given]) each.delete(routed);
        return 'accepted';
      case 'reaction': {
        const before = shown.get(entry);
        if (before === undefined) return 'ignored_unknown_entry';
        seen.push({ route, event: fact.sourceEventId, at });
        const changes = reactions.get(entry) ?? new Map<string, Change>();
        const pair = `${fact.reactionKey} ${fact.actorKey}`;
        const isRemembered = within(reactedAt.get(entry) ?? at, week);
        if (isRemembered && isBefore(time, changes.get(pair)?.time)) return 'mirrored';
        // Once forgotten, the times of all changes of the entry are.
        const others = [...changes].map(([key, each]) => [key, isRemembered ? each : { ...each, time: null }] as const);
        reactions.set(entry, new Map([...others, [pair, { action: fact.action, time }]]));
        reactedAt.set(entry, at);
        shown.set(entry, { ...before, last: at });
        return 'mirrored';
      }
      case 'entry_received':
        break;
    }

    if (removals.some((one) => one.route === route && one.entry === entry && within(one.at, day))) {
      return 'dropped_tombstoned';
    }
    const type = fact.mirrorOnly === true ? null : fact.actorEventType;
    if (type === undefined) return 'missing_actor_event_type';
    handle();
    const [text, title] = [fact.text ?? null, fact.title ?? null];
    const before = shown.get(entry);
    if (!isBefore(time, before?.time)) {
      shown.set(entry, { text, title, time, first: before?.first ?? at, last: at });
    }
    const newest = handled.get(routed);
    const isOlder = isBefore(time, newest?.time);
    const revision = { content: `${text} ${title}`, time, type };
    if (!isOlder) handled.set(routed, revision);
    if (newest?.content === revision.content && newest.time === time && newest.type === type) return 'duplicate';
    if (type === null) return 'recorded';
    if (fact.edited === true && inputs.length > 0) {
      if (isOlder) return 'duplicate';
      tell('signal.entry.edited', inputs);
      given.set(
        routed,
        inputs.map((one) => ({ ...one, at })),
      );
      return 'accepted';
    }
    tell(type);
    given.set(routed, [...inputs, { event: fact.sourceEventId, at }].slice(-8));
    return 'accepted';
  };

  let now = 0;
  for (const message of history) {
    now = Math.max(now, message.at);
    ends.push(become({ ...message, at: now }));
  }
  return { shown, reactions, channelTimes, ends, told };
}

test('the mirror, the ends of facts and what agents are told are those of a plain reading of the same history', () => {
  fc.assert(
    fc.property(fc.oneof(messages, oneEntry), (history) => {
      const { rows, left } = fold(stage, history, { settings });
      const { shown, reactions, channelTimes, ends, told } = naive(history);

      const mirrored = [...rows].filter(([name]) => name.startsWith('entries:')).map(([, row]) => Entry.parse(row));
      expect(
        new Map(
          mirrored.map((row) => [
            entries.at(row).key,
            { text: row.text, title: row.title, time: row.providerTime, first: row.firstSeenAt, last: row.lastSeenAt },
          ]),
        ),
      ).toStrictEqual(new Map([...shown].sort()));
      for (const row of mirrored) {
        const changes = [...(reactions.get(entries.at(row).key) ?? [])];
        const pairs = changes.flatMap(([pair, { action }]) => (action === 'add' ? [pair] : []));
        const reacted = Object.entries(row.reactions ?? {});
        expect(reacted.flatMap(([key, actors]) => actors.map((actor) => `${key} ${actor}`)).sort()).toStrictEqual(
          pairs.sort(),
        );
        for (const [, actors] of reacted) expect(actors).toStrictEqual([...new Set(actors)].sort());
      }
      for (const [id, times] of channelTimes) {
        const row = Channel.parse(rows.get(`channels:${channels.at(id).key}`));
        expect([row.firstSeenAt, row.lastSeenAt]).toStrictEqual([times[0], times.at(-1)]);
      }
      expect(endsOf(left).map(({ end }) => end)).toStrictEqual(ends);
      expect(eventsOf(left).map(inShort)).toStrictEqual(told);
    }),
    { numRuns: 500 },
  );
});

/** Whose event it is, of which source event, its type, and the earlier events that it speaks of. */
const inShort = ({ id, type, data }: ActorEvent): string => {
  const [sourceEvent] = id.split(':', 1);
  return `${data.session.agentUid} ${sourceEvent} ${type} ${(data.lifecycle?.inputs ?? []).map(({ eventId }) => eventId)}`;
};

const eventsOf = (left: readonly Left[]): readonly ActorEvent[] =>
  left.flatMap(({ effect }) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value)] : []));

test('any split of the messages ends in the same rows, events and outcomes', () => {
  fc.assert(
    fc.property(messages, splits, (history, sizes) => {
      expect(fold(stage, history, { settings, splits: sizes })).toStrictEqual(fold(stage, history, { settings }));
    }),
  );
});

test('each fact has exactly one end on its route', () => {
  fc.assert(
    fc.property(messages, (history) => {
      const ends = endsOf(fold(stage, history, { settings }).left);
      expect(ends.map(({ message }) => message)).toStrictEqual(history.map(({ id }) => id));
    }),
  );
});

test('a repeat of a fact changes no row, wakes nobody, and ends as duplicate or as it did before', () => {
  fc.assert(
    fc.property(messages, (history) => {
      const once = fold(stage, history, { settings });
      const doubled = history.flatMap((message) => [message, { ...message, id: `${message.id}'` }]);
      const twice = fold(stage, doubled, { settings });
      expect(twice.rows).toStrictEqual(once.rows);
      expect(twice.left.filter(({ message }) => !message.endsWith("'"))).toStrictEqual(once.left);

      const firstEnds = new Map(endsOf(once.left).map(({ message, end }) => [message, end]));
      for (const { message, end } of endsOf(twice.left)) {
        if (!message.endsWith("'")) continue;
        const first = firstEnds.get(message.slice(0, -1));
        const wroteNothing = ['dropped_tombstoned', 'missing_actor_event_type', 'ignored_unknown_entry'].includes(
          first ?? '',
        );
        expect(end).toBe(wroteNothing ? first : 'duplicate');
      }
    }),
  );
});

test('a route gets at most one event of a source event while it is remembered', () => {
  fc.assert(
    fc.property(messages, (history) => {
      const { left } = fold(stage, history, { settings: { ...settings, seenRetentionMs: 90 * 86_400_000 } });
      const names = eventsOf(left).map(
        ({ id, data }) => `${data.session.agentUid} ${data.session.bindingName} ${id.split(':', 1)}`,
      );
      expect(new Set(names).size).toBe(names.length);
    }),
  );
});

test('an event goes to the session of its channel', () => {
  fc.assert(
    fc.property(messages, (history) => {
      const byId = new Map(history.map(({ id, value }) => [id, value]));
      for (const { message, effect } of fold(stage, history, { settings }).left) {
        if (effect.do !== 'emit') continue;
        const value = byId.get(message);
        expect(actorEvents.key(ActorEvent.parse(effect.value))).toBe(
          `${value?.route.agentUid}|signal-channel:${value?.fact.signalChannelId}`,
        );
      }
    }),
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { ActorEvent, actorEvents } from '../../schemas/actor-event.ts';
import { Channel, channels, Entry, entries } from '../../schemas/mirror.ts';
import { messagesOf, normalizedFact, splits } from '../../shared/testing/arbitraries.ts';
import { type FoldMessage, fold, type Left } from '../../shared/testing/fold.ts';
import { stage } from './stage.ts';

const settings = { seenRetentionMs: 604_800_000, tombstoneRetentionMs: 86_400_000 };

const accepted: fc.Arbitrary<AcceptedFact> = fc
  .record({ fact: normalizedFact, agentUid: fc.constantFrom('iris', 'otto') })
  .map(({ fact, agentUid }) =>
    acceptedFacts.value.parse({
      ...acceptedFacts.example,
      route: { ...acceptedFacts.example.route, agentUid },
      fact,
    }),
  );
const messages = messagesOf(accepted);

const endsOf = (left: readonly Left[]) =>
  left.flatMap(({ message, effect }) => {
    if (effect.do === 'emit') return [];
    return [{ message, end: effect.do === 'outcome' ? effect.status : effect.code }];
  });

/** What each message comes to and what the mirror shows, said as plainly as can be: lists, and no rows that expire. */
function naive(history: readonly FoldMessage<AcceptedFact>[]) {
  const handledEvents: { route: string; event: string; at: number }[] = [];
  const removals: { route: string; entry: string; at: number }[] = [];
  const shown = new Map<string, { text: string | null; title: string | null; time: number | null; seen: number[] }>();
  const channelTimes = new Map<string, number[]>();
  const silent: boolean[] = [];

  for (const { value, at } of history) {
    const { fact } = value;
    const route = value.route.agentUid;
    const entry = entries.at({ ...fact, sourceEntryId: fact.sourceEntryId ?? '' }).key;
    const known = handledEvents.some(
      (one) => one.route === route && one.event === fact.sourceEventId && at - one.at < settings.seenRetentionMs,
    );
    const buried = removals.some(
      (one) => one.route === route && one.entry === entry && at - one.at < settings.tombstoneRetentionMs,
    );
    const untyped = fact.type === 'entry_received' && fact.mirrorOnly !== true && fact.actorEventType === undefined;
    silent.push(known || (fact.type === 'entry_received' && (buried || untyped)));
    if (silent.at(-1) === true) continue;

    handledEvents.push({ route, event: fact.sourceEventId, at });
    channelTimes.set(fact.signalChannelId, [...(channelTimes.get(fact.signalChannelId) ?? []), at]);
    if (fact.type === 'entry_lifecycle') {
      removals.push({ route, entry, at });
      shown.delete(entry);
      continue;
    }
    if (fact.type !== 'entry_received') continue;
    const before = shown.get(entry);
    const time = fact.providerTime ?? null;
    if (before !== undefined && before.time !== null && time !== null && time < before.time) continue;
    shown.set(entry, { text: fact.text ?? null, title: fact.title ?? null, time, seen: [...(before?.seen ?? []), at] });
  }
  return { shown, channelTimes, silent };
}

test('the mirror shows what a plain reading of the same history shows', () => {
  fc.assert(
    fc.property(messages, (history) => {
      const { rows, left } = fold(stage, history, { settings });
      const { shown, channelTimes, silent } = naive(history);

      const mirrored = [...rows].filter(([name]) => name.startsWith('entries:')).map(([, row]) => Entry.parse(row));
      expect(
        new Map(
          mirrored.map((row) => [
            entries.at(row).key,
            { text: row.text, title: row.title, time: row.providerTime, first: row.firstSeenAt, last: row.lastSeenAt },
          ]),
        ),
      ).toStrictEqual(
        new Map(
          [...shown]
            .sort()
            .map(([key, { seen, ...content }]) => [key, { ...content, first: seen[0], last: seen.at(-1) }]),
        ),
      );
      for (const [id, times] of channelTimes) {
        const row = Channel.parse(rows.get(`channels:${channels.at(id).key}`));
        expect([row.firstSeenAt, row.lastSeenAt]).toStrictEqual([times[0], times.at(-1)]);
      }
      const quiet = endsOf(left).map(({ end }) => !['accepted', 'recorded'].includes(end));
      for (const [number, isSilent] of silent.entries()) if (isSilent) expect(quiet[number]).toBe(true);
    }),
    { numRuns: 300 },
  );
});

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
        const wroteNothing = first === 'dropped_tombstoned' || first === 'missing_actor_event_type';
        expect(end).toBe(wroteNothing ? first : 'duplicate');
      }
    }),
  );
});

test('a route gets at most one event of a source event while it is remembered', () => {
  fc.assert(
    fc.property(messages, (history) => {
      const { left } = fold(stage, history, { settings: { ...settings, seenRetentionMs: 90 * 86_400_000 } });
      const names = left.flatMap(({ effect }) => {
        if (effect.do !== 'emit') return [];
        const event = ActorEvent.parse(effect.value);
        return [`${event.data.session.agentUid} ${event.data.session.bindingName} ${event.id}`];
      });
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

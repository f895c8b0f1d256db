import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { ActorEvent, type ReplacementEvent } from '../../schemas/actor-event.ts';
import { Entry } from '../../schemas/mirror.ts';
import { splits } from '../../shared/testing/arbitraries.ts';
import { said, toIris, toMei, unsaid } from '../../shared/testing/chat.ts';
import { type FoldMessage, fold, type Left } from '../../shared/testing/fold.ts';
import { defaultAt as t0 } from '../../shared/testing/spec.ts';
import { stage } from './stage.ts';

const fact: fc.Arbitrary<AcceptedFact> = fc
  .record({
    id: fc.integer({ min: 0, max: 15 }).map((number) => `e${number}`),
    event: fc.integer({ min: 0, max: 40 }).map((number) => `ev-${number}`),
    by: fc.constantFrom('mei', 'jonas'),
    agentUid: fc.constantFrom('iris', 'otto'),
    policy: fc.constantFrom('ignore', 'record_only', 'may_intervene'),
    kind: fc.constantFrom('im_group', 'im_group', 'im_group', 'im_dm'),
    text: fc.constantFrom('one', 'two', '/stop', '/new'),
    fact: fc.constantFrom({}, {}, toIris, toMei, { replyToSourceEntryId: 'e1' }, { providerThreadId: 'th-a' }),
    providerTime: fc.constantFrom(undefined, t0, t0 + 1),
    edited: fc.constantFrom(undefined, undefined, true),
    removed: fc.constantFrom(false, false, false, true),
  } as const)
  .map(({ removed, edited, providerTime, fact: more, ...message }) => {
    const told = { ...message, fact: { ...more, providerTime, edited } };
    return removed ? unsaid({ ...message, fact: {} }) : said(told);
  });

const history: fc.Arbitrary<readonly FoldMessage<AcceptedFact>[]> = fc
  .array(fc.record({ value: fact, afterMs: fc.constantFrom(0, 1, 200, 650, 1_100, 20_000) }), { maxLength: 40 })
  .map((steps) => {
    let at = t0;
    return steps.map(({ value, afterMs }, number) => {
      at += afterMs;
      return { id: `m${number}`, value, at };
    });
  });

const until = t0 + 10_000_000;

const eventsOf = (left: readonly Left[]) =>
  left.flatMap(({ effect }) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value)] : []));

test('each fact of a conversation has exactly one end on its route, and nothing waits for ever', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const { left, timers, rows } = fold(stage, messages, { until });
      const facts = new Set(messages.map(({ id }) => id));
      const ends = left.flatMap(({ message, effect }) =>
        facts.has(message) && effect.do !== 'emit' && !(effect.do === 'outcome' && effect.status === 'handed_over')
          ? [message]
          : [],
      );
      expect(ends).toStrictEqual(messages.map(({ id }) => id));
      expect([...timers]).toStrictEqual([]);
      expect(
        [...rows].filter(([name, row]) => name.startsWith('open-batches:') && JSON.stringify(row).includes('"dueAt"')),
      ).toStrictEqual([]);
    }),
  );
});

test('a message goes to an agent at most once while it is not removed, and each that is told of was handed over', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const unremoved = messages.filter(
        ({ value }) => value.type !== 'fact.accepted' || value.fact.type === 'entry_received',
      );
      const { left } = fold(stage, unremoved, { until });
      const news = eventsOf(left).filter(({ data }) => data.lifecycle === undefined);
      const given = news.flatMap(({ data }) =>
        (data.inboundBatch?.sourceEntryIds ?? [data.entry?.sourceEntryId]).map(
          (id) => `${data.session.agentUid} ${id}`,
        ),
      );
      expect(new Set(given).size).toBe(given.length);
      const told = left.flatMap(({ effect }) =>
        effect.do === 'outcome' && effect.about?.actorEventId !== undefined ? [effect.about.actorEventId] : [],
      );
      expect(new Set(told)).toStrictEqual(new Set(eventsOf(left).map(({ id }) => id)));
    }),
  );
});

test('an agent that takes each replacement holds nothing that is gone, and each message once', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const { left } = fold(stage, messages, { until });
      const held = new Map<string, readonly string[]>();
      const entriesOf = ({ data }: Pick<ActorEvent, 'data'> | ReplacementEvent): readonly string[] =>
        data.inboundBatch?.sourceEntryIds ?? [data.entry?.sourceEntryId ?? ''];
      for (const event of eventsOf(left)) {
        const { agentUid } = event.data.session;
        const { lifecycle } = event.data;
        if (lifecycle === undefined) held.set(`${agentUid} ${event.id}`, entriesOf(event));
        for (const { eventId, replacement } of lifecycle?.inputs ?? []) {
          const key = `${agentUid} ${eventId}`;
          // It is only told of what it was given.
          expect([...held.keys()]).toContain(key);
          if (replacement === undefined) held.delete(key);
          else held.set(key, entriesOf(replacement));
        }
      }
      const gone = new Set(
        messages.flatMap(({ id, value }) =>
          value.type === 'fact.accepted' &&
          value.fact.type === 'entry_lifecycle' &&
          left.some(({ message, effect }) => message === id && effect.do === 'outcome' && effect.status === 'accepted')
            ? [`${value.route.agentUid} ${value.fact.sourceEntryId}`]
            : [],
        ),
      );
      const all = [...held].flatMap(([key, ids]) => ids.map((id) => `${key.split(' ', 1)} ${id}`));
      expect(new Set(all).size).toBe(all.length);
      expect(all.filter((each) => gone.has(each))).toStrictEqual([]);
    }),
    { numRuns: 500 },
  );
});

interface Shown {
  readonly text: string | undefined;
  readonly time: number | undefined;
}

/** What a conversation looks like in the end, where all that is said is shown: said as plainly as can be, without rows. */
function naive(history: readonly FoldMessage<AcceptedFact>[]) {
  const seen = new Set<string>();
  const gone = new Set<string>();
  const shown = new Map<string, Shown>();
  for (const { value } of history) {
    if (value.type !== 'fact.accepted' || value.fact.type === 'action' || value.fact.type === 'reaction') continue;
    const { route, fact } = value;
    const event = `${route.agentUid} ${fact.sourceEventId}`;
    const entry = `${route.agentUid} ${fact.sourceEntryId}`;
    if (seen.has(event)) continue;
    if (fact.type === 'entry_lifecycle') {
      seen.add(event);
      gone.add(entry);
      shown.delete(fact.sourceEntryId);
      continue;
    }
    // What was dropped counts as never told.
    if (gone.has(entry)) continue;
    seen.add(event);
    const before = shown.get(fact.sourceEntryId);
    const time = fact.providerTime;
    if (before?.time !== undefined && time !== undefined && time < before.time) continue;
    shown.set(fact.sourceEntryId, { text: fact.text, time });
  }
  return shown;
}

test('where all that is said is shown, the mirror is that of a plain reading of the same conversation', () => {
  const all = history.map((messages) =>
    messages.map((message) => {
      const { value } = message;
      const route = { ...value.route, unaddressedGroupMessagePolicy: 'record_only' as const };
      return { ...message, value: acceptedFacts.value.parse({ ...value, route }) };
    }),
  );
  fc.assert(
    fc.property(all, (messages) => {
      const { rows } = fold(stage, messages, { until });
      const mirrored = [...rows].flatMap(([name, row]): [string, Shown][] => {
        if (!name.startsWith('entries:')) return [];
        const { sourceEntryId, text, providerTime } = Entry.parse(row);
        return [[sourceEntryId, { text: text ?? undefined, time: providerTime ?? undefined }]];
      });
      expect(new Map(mirrored.sort())).toStrictEqual(new Map([...naive(messages)].sort()));
    }),
    { numRuns: 500 },
  );
});

test('any split of a conversation ends in the same rows, events and outcomes', () => {
  fc.assert(
    fc.property(history, splits, (messages, sizes) => {
      expect(fold(stage, messages, { until, splits: sizes })).toStrictEqual(fold(stage, messages, { until }));
    }),
  );
});

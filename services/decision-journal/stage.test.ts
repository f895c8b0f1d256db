import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Decision, decisions } from '../../schemas/decision.ts';
import { Journey, JourneyIndex, journeyIndex, journeys } from '../../schemas/journey.ts';
import { put } from '../../shared/stage/index.ts';
import { messagesOf, splits } from '../../shared/testing/arbitraries.ts';
import { fold } from '../../shared/testing/fold.ts';
import { spec, defaultAt as t0 } from '../../shared/testing/spec.ts';
import { stage } from './stage.ts';

const { given } = spec(stage);
const week = 604_800_000;

const base = {
  rootId: 'root-1',
  stage: 'filter',
  status: 'filtered',
  at: t0,
  from: 'normalized-facts/3/7',
  about: { agentUid: 'iris', bindingName: 'desk' },
};
/** As it is read from the log, where an undefined member is an absent one. */
const decisionOf = (members: Record<string, unknown> = {}): Decision =>
  decisions.value.parse(JSON.parse(JSON.stringify({ ...base, ...members })));

describe('journeys', () => {
  test('the first decision on a fact begins its journey', () => {
    const decision = decisionOf();
    given({})
      .when(decision)
      .then(put(journeys.at('root-1'), { decisions: [decision], dropped: 0 }, t0 + week));
  });

  test('a later decision is added and keeps the journey for another week', () => {
    const first = decisionOf();
    const second = decisionOf({ stage: 'mirror-projector', status: 'recorded', from: 'accepted-facts/3/9' });
    given({ journey: { decisions: [first], dropped: 0 } })
      .when(second, { at: t0 + 60_000 })
      .then(put(journeys.at('root-1'), { decisions: [first, second], dropped: 0 }, t0 + 60_000 + week));
  });

  test('a repeat of a decision changes nothing, whenever it was made and whatever it is about', () => {
    const repeat = decisionOf({
      at: t0 + 5,
      reason: 'again',
      about: { ...decisionOf().about, providerEventId: 'ev-1' },
    });
    given({ journey: { decisions: [decisionOf()], dropped: 0 } })
      .when(repeat)
      .then();
  });

  test('decisions of another stage, record, status or binding are no repeats', () => {
    for (const other of [
      { stage: 'normalizer' },
      { from: 'normalized-facts/3/8' },
      { status: 'accepted' },
      { about: { agentUid: 'otto', bindingName: 'desk' } },
      { about: { agentUid: 'iris', bindingName: 'lab' } },
    ]) {
      const decision = decisionOf(other);
      given({ journey: { decisions: [decisionOf()], dropped: 0 } })
        .when(decision)
        .then(put(journeys.at('root-1'), { decisions: [decisionOf(), decision], dropped: 0 }, t0 + week));
    }
  });

  test('decisions past the bound are counted', () => {
    const kept = decisionOf();
    given({ journey: { decisions: [kept], dropped: 4 } })
      .when(decisionOf({ from: 'normalized-facts/3/8' }), { settings: { maxDecisions: 1 } })
      .then(put(journeys.at('root-1'), { decisions: [kept], dropped: 5 }, t0 + week));
  });
});

describe('the index', () => {
  const about = {
    providerEventId: 'ev-1',
    signalChannelId: 'github:octo/repo#7',
    sourceEntryId: 'e-1',
    actorEventId: 'ev-1',
  };
  const decision = decisionOf({ about });
  const journey = put(journeys.at('root-1'), { decisions: [decision], dropped: 0 }, t0 + week);
  const rows = {
    providerEvent: journeyIndex.at({ handle: { by: 'provider-event', id: 'ev-1' }, rootId: 'root-1' }),
    entry: journeyIndex.at({
      handle: { by: 'entry', signalChannelId: about.signalChannelId, sourceEntryId: about.sourceEntryId },
      rootId: 'root-1',
    }),
    actorEvent: journeyIndex.at({ handle: { by: 'actor-event', id: 'ev-1' }, rootId: 'root-1' }),
  };

  test('a journey is found by provider event, entry and actor event', () => {
    given({})
      .when(decision)
      .then(
        journey,
        put(rows.providerEvent, { rootIds: ['root-1'] }, t0 + week),
        put(rows.entry, { rootIds: ['root-1'] }, t0 + week),
        put(rows.actorEvent, { rootIds: ['root-1'] }, t0 + week),
      );
  });

  test('a handle leads to the newest facts, each once, and the oldest give way', () => {
    given({
      providerEvent: { rootIds: ['root-1', 'root-2'] },
      entry: { rootIds: ['root-3', 'root-2'] },
      actorEvent: { rootIds: [] },
    })
      .when(decision, { settings: { maxJourneys: 2 } })
      .then(
        journey,
        put(rows.providerEvent, { rootIds: ['root-1', 'root-2'] }, t0 + week),
        put(rows.entry, { rootIds: ['root-2', 'root-1'] }, t0 + week),
        put(rows.actorEvent, { rootIds: ['root-1'] }, t0 + week),
      );
  });

  test('a channel without an entry is no handle', () => {
    const channelOnly = decisionOf({ about: { signalChannelId: 'github:octo/repo#7' } });
    given({})
      .when(channelOnly)
      .then(put(journeys.at('root-1'), { decisions: [channelOnly], dropped: 0 }, t0 + week));
  });
});

describe('any history', () => {
  const someDecision = fc
    .record({
      rootId: fc.constantFrom('root-1', 'root-2', 'root-3'),
      stage: fc.constantFrom('normalizer', 'filter', 'mirror-projector'),
      status: fc.constantFrom('accepted', 'filtered', 'duplicate'),
      from: fc.constantFrom(undefined, 'accepted-facts/3/1', 'accepted-facts/3/2'),
      about: fc.record(
        {
          bindingName: fc.constantFrom('desk', 'lab'),
          providerEventId: fc.constantFrom('ev-1', 'ev-2'),
          actorEventId: fc.constantFrom('ev-1', 'ev-2'),
        },
        { requiredKeys: [] },
      ),
    })
    .map(decisionOf);
  const messages = messagesOf(someDecision);
  const settings = { maxDecisions: 5, maxJourneys: 2 };

  test('ends in the same rows on any split', () => {
    fc.assert(
      fc.property(messages, splits, (history, sizes) => {
        expect(fold(stage, history, { settings, splits: sizes })).toStrictEqual(fold(stage, history, { settings }));
      }),
    );
  });

  test('ends in the same rows when each decision comes twice, up to the bound', () => {
    const unbounded = { maxDecisions: 1_000, maxJourneys: 1_000 };
    fc.assert(
      fc.property(messages, (history) => {
        const doubled = history.flatMap((message) => [message, { ...message, id: `${message.id}'` }]);
        expect(fold(stage, doubled, { settings: unbounded })).toStrictEqual(
          fold(stage, history, { settings: unbounded }),
        );
      }),
    );
  });

  test('keeps every decision of the past week within the bounds, oldest first, and leads to it', () => {
    fc.assert(
      fc.property(fc.array(someDecision, { maxLength: 30 }), (values) => {
        const history = values.map((value, number) => ({ id: `m${number}`, value, at: t0 + number }));
        const { rows, left } = fold(stage, history, { settings });
        expect(left).toStrictEqual([]);
        for (const [name, row] of rows) {
          if (name.startsWith('journeys:')) {
            const { decisions: kept, dropped } = Journey.parse(row);
            const own = values.filter(({ rootId }) => `journeys:${rootId}` === name);
            const nameOf = (each: Decision) =>
              JSON.stringify([each.stage, each.status, each.from, each.about.bindingName]);
            const distinct = own.filter(
              (each, number) => own.findIndex((other) => nameOf(other) === nameOf(each)) === number,
            );
            expect(kept).toStrictEqual(distinct.slice(0, settings.maxDecisions));
            expect(dropped > 0).toBe(distinct.length > settings.maxDecisions);
          } else {
            const { rootIds } = JourneyIndex.parse(row);
            expect(rootIds.length).toBeLessThanOrEqual(settings.maxJourneys);
            for (const rootId of rootIds) expect(rows.has(`journeys:${rootId}`)).toBe(true);
          }
        }
      }),
    );
  });
});

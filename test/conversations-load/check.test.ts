import { describe, expect, test } from 'vitest';
import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { normalizedFacts } from '../../schemas/normalized-fact.ts';
import { stage } from '../../services/mirror-projector/stage.ts';
import { fold } from '../../shared/testing/fold.ts';
import { joined } from '../e2e/checker/contract.ts';
import type { LogRecord } from '../e2e/checker/log.ts';
import { type ChatFact, chatFacts } from './chat.ts';
import { createCheck, type Route } from './check.ts';

const mark = 'talk';
const routes: readonly Route[] = [
  { agentUid: 'iris', bindingName: 'records', policy: 'record_only', passes: () => true },
  { agentUid: 'otto', bindingName: 'intervenes', policy: 'may_intervene', passes: () => true },
  { agentUid: 'nele', bindingName: 'groups', policy: 'ignore', passes: ({ channel }) => channel.kind === 'im_group' },
];
const t0 = Date.parse('2026-01-01T00:00:00Z');

type Topics = Readonly<Record<'normalized' | 'accepted' | 'events' | 'decisions', readonly LogRecord[]>>;

/** What the log holds after a chat: the stage that keeps the mirror, with one partition of everything. */
function play({
  seed,
  facts,
  everyMs = 7,
}: {
  readonly seed: number;
  readonly facts: number;
  readonly everyMs?: number;
}) {
  const record = (topic: string, offset: number, rest: Pick<LogRecord, 'at' | 'value'> & Partial<LogRecord>) =>
    ({ topic, partition: 0, offset: BigInt(offset), key: '', ...rest }) satisfies LogRecord;
  const agents = routes.map(({ agentUid }) => agentUid);
  const chat = chatFacts({ mark, connectionId: mark, agents, channels: 20, abreast: 12, history: 2, seed });
  const normalized = Array.from({ length: facts }, (_, index) =>
    record('normalized-facts', index, {
      at: t0 + index * everyMs,
      value: normalizedFacts.value.parse(chat.next().value.fact),
    }),
  );
  const decisions: LogRecord[] = [];
  const passed = normalized.flatMap(({ offset, at, value }) =>
    routes.flatMap(({ agentUid, bindingName, policy, passes }) => {
      const about = { signalChannelId: (value as ChatFact).signalChannelId, agentUid, bindingName };
      if (!passes(value as ChatFact)) {
        const decision = { status: 'filtered', from: `normalized-facts/0/${offset}`, about };
        decisions.push(
          record('decisions', decisions.length, { at, value: decision, from: `${decision.from}/${agentUid}` }),
        );
        return [];
      }
      const route = { agentUid, bindingName, adapter: 'github', unaddressedGroupMessagePolicy: policy };
      const id = `normalized-facts/0/${offset}/${joined(agentUid, bindingName)}`;
      return [{ id, at, value: acceptedFacts.value.parse({ type: 'fact.accepted', route, fact: value }) }];
    }),
  );
  const accepted: LogRecord[] = [];
  const watched: typeof stage = {
    ...stage,
    decide(view, message, settings) {
      const from = message.value.type === 'fact.accepted' ? { from: message.id } : {};
      const { at, rootId, value } = message;
      accepted.push(record('accepted-facts', accepted.length, { at, rootId, value, ...from }));
      placeOfMessage.set(message.id, `accepted-facts/0/${accepted.length - 1}`);
      return stage.decide(view, message, settings);
    },
  };
  const placeOfMessage = new Map<string, string>();
  const { left } = fold(watched, passed, { until: t0 + 10_000_000 });
  const events: LogRecord[] = [];
  const valueAt = new Map<string, AcceptedFact>(
    accepted.map(({ offset, value }) => [`accepted-facts/0/${offset}`, value as AcceptedFact]),
  );
  for (const [index, { message, effect }] of left.entries()) {
    const from = placeOfMessage.get(message) ?? '';
    const of = { at: accepted[Number(from.split('/')[2])]?.at ?? 0, from: `${from}/${index}` };
    if (effect.do === 'emit') events.push(record('actor-events', events.length, { ...of, value: effect.value }));
    const value = valueAt.get(from);
    if (effect.do !== 'outcome' || value === undefined) continue;
    const about = { ...acceptedFacts.about?.(value), ...effect.about };
    decisions.push(
      record('decisions', decisions.length, {
        ...of,
        value: { status: effect.status, reason: effect.reason, from, about },
      }),
    );
  }
  return { normalized, accepted, events, decisions } satisfies Topics;
}

function checked(topics: Topics) {
  const check = createCheck({ mark, routes });
  check.facts(topics.normalized, topics.accepted);
  check.events(topics.events);
  check.decisions(topics.decisions);
  return check;
}

test.each([
  [1, 7],
  [3, 40],
  [4, 150],
])('the refold agrees with the stage: seed %i, a fact every %i ms', (seed, everyMs) => {
  const { problems, counts, repeats, firedLateMs } = checked(play({ seed, facts: 1_000, everyMs }));
  expect(problems()).toEqual([]);
  expect([counts.facts, repeats.size]).toEqual([1_000, 0]);
  expect(counts.events).toBeGreaterThan(200);
  expect(counts.closedByTimer).toBeGreaterThan(100);
  expect(Math.max(...firedLateMs)).toBe(0);
});

describe('turns red where', () => {
  const played = play({ seed: 5, facts: 600 });
  const batchAt = played.events.findIndex(
    ({ value }) => (value as { data: { entries?: unknown } }).data.entries !== undefined,
  );
  const batch = played.events[batchAt];
  const with_ = (changes: Partial<Topics>) =>
    checked({ ...played, ...changes })
      .problems()
      .join('\n');

  test('nothing is wrong, it does not', () => {
    expect(with_({})).toBe('');
  });

  test('an event is lost', () => {
    expect(with_({ events: played.events.toSpliced(batchAt, 1) })).toMatch(/the refold says|lost/);
  });

  test('a message is handed over twice, also by an event of another origin', () => {
    const again = { ...batch, from: 'accepted-facts/0/0/99' } as LogRecord;
    expect(with_({ events: [...played.events, again] })).toMatch(/handed over twice/);
  });

  test('an event tells its messages in another order', () => {
    const event = structuredClone(batch?.value) as { data: { inboundBatch: { sourceEntryIds: string[] } } };
    event.data.inboundBatch.sourceEntryIds.reverse();
    expect(with_({ events: played.events.with(batchAt, { ...batch, value: event } as LogRecord) })).toMatch(
      /the refold says/,
    );
  });

  test('a fact has no end, two, or another one', () => {
    const [first] = played.decisions;
    expect(with_({ decisions: played.decisions.slice(1) })).toMatch(/no end/);
    expect(with_({ decisions: [...played.decisions, { ...first, from: 'x' } as LogRecord] })).toMatch(/a second end/);
    const other = { ...first, value: { ...(first?.value as object), status: 'loop_guard' } } as LogRecord;
    expect(with_({ decisions: played.decisions.with(0, other) })).toMatch(/loop_guard, the refold says/);
  });

  test('a fact was not accepted, or on a route that it does not pass', () => {
    expect(with_({ accepted: played.accepted.slice(1) })).toMatch(/not accepted as it is/);
    const elsewhere = { ...played.accepted[0], from: 'normalized-facts/0/0/else' } as LogRecord;
    expect(with_({ accepted: [...played.accepted, elsewhere] })).toMatch(/should not be/);
  });
});

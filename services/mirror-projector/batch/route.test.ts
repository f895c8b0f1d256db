import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BatchEntry, OpenBatch } from '../../../schemas/batch.ts';
import { EntryReceived, exampleFact } from '../../../schemas/normalized-fact.ts';
import { type Routing, routeEntry, withoutEntry } from './route.ts';

const at = 1_000_000;
const limits = { maxBatchEntries: 10, maxBatchBytes: 20_000 };

/** Who says it, to whom: `!` to the agent, `@` to somebody else, else to nobody. */
type Line = `${'mei' | 'jonas'}${'' | '!' | '@' | '!@'}`;

function entryOf(id: string, line: Line, more: Record<string, unknown> = {}, now = at): BatchEntry {
  const explicit = line.includes('!');
  const namesOthers = line.includes('@');
  const fact = EntryReceived.parse({
    ...exampleFact,
    sourceEntryId: id,
    providerTime: undefined,
    author: { id: line.replaceAll(/[!@]/g, ''), kind: 'user' },
    ...more,
  });
  return {
    fact,
    rootId: `root-${id}`,
    contentHash: `${fact.text}`,
    receivedAt: now,
    observedAt: now,
    explicit,
    addressable: !explicit && !namesOthers,
    namesOthers,
    mirrored: true,
    bytes: 300 + (fact.text ?? '').length,
  };
}

const routing = (entry: BatchEntry, more: Partial<Routing> = {}): Routing => ({
  at: entry.observedAt,
  newId: `for-${entry.fact.sourceEntryId}`,
  policy: 'record_only',
  windows: undefined,
  limits,
  addressed: entry.explicit,
  ...more,
});

const told = ({ mode, requesterSenderKey, entries }: OpenBatch): string =>
  `${mode}${requesterSenderKey === null ? '' : ` of ${requesterSenderKey}`}: ${entries.map(({ fact }) => fact.sourceEntryId).join('+')}`;

/** Says lines one after another and tells the batches that closed and those that wait. */
function say(lines: readonly Line[], more: (index: number) => Record<string, unknown> = () => ({})) {
  let open: readonly OpenBatch[] = [];
  const closed: OpenBatch[] = [];
  for (const [index, line] of lines.entries()) {
    const entry = entryOf(String(index), line, more(index), at + index);
    const routed = routeEntry(open, entry, routing(entry));
    open = routed.open;
    closed.push(...routed.closed);
  }
  return { closed: closed.map(told), open: open.map(told) };
}

describe('the routing table', () => {
  test.each<{ name: string; lines: readonly Line[]; closed: readonly string[]; open: readonly string[] }>([
    { name: 'nothing open, addressed', lines: ['mei!'], closed: [], open: ['addressed of mei: 0'] },
    { name: 'nothing open, neutral', lines: ['mei'], closed: [], open: ['neutral: 0'] },
    { name: 'a request, its sender again', lines: ['mei!', 'mei!'], closed: [], open: ['addressed of mei: 0+1'] },
    {
      name: 'a request, another sender',
      lines: ['mei!', 'jonas!'],
      closed: ['addressed of mei: 0'],
      open: ['addressed of jonas: 1'],
    },
    {
      name: 'a request, its sender to the agent and to somebody else',
      lines: ['mei!', 'mei!@'],
      closed: ['addressed of mei: 0'],
      open: ['addressed of mei: 1'],
    },
    { name: 'a request, its sender to nobody', lines: ['mei!', 'mei'], closed: [], open: ['addressed of mei: 0+1'] },
    {
      name: 'a request, its sender to somebody else',
      lines: ['mei!', 'mei@'],
      closed: ['addressed of mei: 0'],
      open: ['neutral: 1'],
    },
    {
      name: 'a request, another sender to nobody',
      lines: ['mei!', 'jonas'],
      closed: ['addressed of mei: 0'],
      open: ['neutral: 1'],
    },
    { name: 'neutral, neutral of anybody', lines: ['mei', 'jonas', 'mei@'], closed: [], open: ['neutral: 0+1+2'] },
    {
      name: "neutral, all the sender's own",
      lines: ['mei', 'mei', 'mei!'],
      closed: [],
      open: ['addressed of mei: 0+1+2'],
    },
    {
      name: 'neutral, others spoke before',
      lines: ['jonas', 'mei', 'mei!'],
      closed: ['neutral: 0'],
      open: ['addressed of mei: 1+2'],
    },
    {
      name: 'neutral, others spoke last',
      lines: ['mei', 'jonas', 'mei!'],
      closed: ['neutral: 0+1'],
      open: ['addressed of mei: 2'],
    },
    {
      name: 'neutral, the sender spoke to somebody else before',
      lines: ['mei@', 'mei', 'mei!'],
      closed: ['neutral: 0'],
      open: ['addressed of mei: 1+2'],
    },
  ])('$name', ({ lines, closed, open }) => {
    expect(say(lines)).toStrictEqual({ closed, open });
  });

  test.each([
    { lengths: [2_000, 2_000], joins: true },
    { lengths: [2_000, 2_001], joins: false },
    { lengths: [2_000, 3_000], joins: true },
    { lengths: [3_000, 5_000], joins: true },
    { lengths: [3_000, 5_001], joins: false },
    { lengths: [9_000, 1], joins: false },
  ])('a request takes texts of $lengths characters together: $joins', ({ lengths, joins }) => {
    const { closed } = say(['mei!', 'mei!'], (index) => ({ text: '🚦'.repeat(lengths[index] ?? 0) }));
    expect(closed).toHaveLength(joins ? 0 : 1);
  });

  test('the entries of a batch are in the order in which they were sent', () => {
    expect(say(['mei!', 'mei!'], (index) => ({ providerTime: at - index })).open).toStrictEqual([
      'addressed of mei: 1+0',
    ]);
  });

  test('a row that holds too much closes what is due first', () => {
    const text = 'x'.repeat(19_000);
    const { closed, open } = say(['mei', 'mei', 'mei', 'mei', 'mei'], (index) => ({
      text,
      providerThreadId: `th-${index}`,
    }));
    expect(closed).toStrictEqual(['neutral: 0']);
    expect(open).toHaveLength(4);
  });
});

const lines = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 60 }).map((number) => `e${number}`),
    line: fc.constantFrom<Line[]>('mei', 'mei', 'mei!', 'jonas', 'jonas!', 'mei@', 'jonas!@'),
    thread: fc.constantFrom(undefined, 'th-a'),
    reply: fc.constantFrom(undefined, undefined, undefined, 'e-x'),
    text: fc.constantFrom('a', 'b', 'x'.repeat(3_500)),
    time: fc.constantFrom(undefined, 1, 2, 3),
    afterMs: fc.constantFrom(0, 1, 100, 700, 3_000),
    removed: fc.constantFrom(false, false, false, false, true),
  }),
  { maxLength: 60 },
);

test('batches neither lose nor double an entry, and no request grows past its limits', () => {
  fc.assert(
    fc.property(lines, (steps) => {
      let open: readonly OpenBatch[] = [];
      const handed: string[] = [];
      const expected = new Set<string>();
      let now = at;
      for (const { id, line, thread, reply, text, time, afterMs, removed } of steps) {
        now += afterMs;
        if (handed.includes(id)) continue;
        if (removed) {
          const taken = withoutEntry(open, id, { windows: undefined });
          open = taken.open;
          expected.delete(id);
          continue;
        }
        const more = { providerThreadId: thread, replyToSourceEntryId: reply, text, providerTime: time };
        const entry = entryOf(id, line, more, now);
        const routed = routeEntry(open, entry, routing(entry));
        expected.add(id);
        open = routed.open;
        handed.push(...routed.closed.flatMap(({ entries }) => entries.map(({ fact }) => fact.sourceEntryId)));

        const holders = [...routed.open, ...routed.closed].filter((batch) =>
          batch.entries.some((e) => e.fact.sourceEntryId === id),
        );
        expect(holders).toHaveLength(1);
        expect(new Set(open.map(({ providerThreadId }) => providerThreadId)).size).toBe(open.length);
        for (const batch of open) {
          expect(batch.dueAt).toBeGreaterThanOrEqual(Math.min(...batch.entries.map(({ receivedAt }) => receivedAt)));
          if (batch.mode === 'neutral') expect(batch.entries.length).toBeLessThanOrEqual(limits.maxBatchEntries);
          else expect(batch.entries.some(({ explicit }) => explicit) || batch.entries.length === 1).toBe(true);
        }
      }
      const waiting = open.flatMap(({ entries }) => entries.map(({ fact }) => fact.sourceEntryId));
      expect([...handed, ...waiting].toSorted()).toStrictEqual([...expected].toSorted());
    }),
    { numRuns: 400 },
  );
});

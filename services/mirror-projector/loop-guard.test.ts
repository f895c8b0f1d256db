import { describe, expect, test } from 'vitest';
import { playOn, type Said, type Steps, said, toIris } from '../../shared/testing/chat.ts';
import { stage } from './stage.ts';

const otto = { author: { id: 'b-2', kind: 'bot', agentUid: 'otto' } };
const settings = { maxPairWakes: 2, pairWindowMs: 60_000, maxCausalDepth: 3 };
const play = (steps: Steps) => playOn(stage, steps, { until: 400_000, settings });

const asks = (id: string, more: Partial<Said> = {}) =>
  said({ id, text: id, ...more, fact: { ...toIris, ...otto, ...more.fact } });

describe('the loop guard', () => {
  test('what one agent says to another wakes it as often as the setting says, and is recorded from then on', () => {
    const played = play([
      [0, asks('a')],
      [5_000, asks('b')],
      [10_000, asks('c')],
      [60_000, asks('d')],
    ]);
    expect(played.ends).toStrictEqual(['accepted', 'accepted', 'loop_guard', 'accepted']);
    expect(played.events.map(({ data }) => data.entry?.sourceEntryId)).toStrictEqual(['a', 'b', 'd']);
    expect([...played.mirrored.keys()]).toStrictEqual(['a', 'b', 'c', 'd']);
    expect(played.left).toContainEqual({
      message: 'm2',
      effect: { do: 'outcome', status: 'loop_guard', reason: 'pair_rate' },
    });
  });

  test('people, other authors and what wakes nobody do not count', () => {
    const other = { author: { id: 'b-3', kind: 'bot' } };
    const played = play([
      [0, asks('a')],
      [1_000, said({ id: 'n', text: 'to nobody', fact: otto })],
      [2_000, asks('a', { event: 'again' })],
      [5_000, asks('b')],
      [10_000, asks('c', { fact: other })],
      ...['p', 'q', 'r', 's'].map((id): Steps[number] => [20_000, said({ id, text: id, fact: toIris })]),
    ]);
    expect(played.ends).not.toContain('loop_guard');
  });

  test('a message that may make the agent speak counts as one that asks it', () => {
    const unasked = (id: string) => said({ id, text: id, policy: 'may_intervene', fact: otto });
    const played = play([
      [0, unasked('a')],
      [20_000, unasked('b')],
      [40_000, unasked('c')],
    ]);
    expect(played.ends).toStrictEqual(['recorded', 'recorded', 'loop_guard']);
    expect(played.events).toHaveLength(2);
  });

  test('a chain of wakes ends at its depth, whoever speaks, and an event tells how deep it is', () => {
    const played = play([
      [0, said({ id: 'a', text: 'a', fact: { ...toIris, causalDepth: 1 } })],
      [100, said({ id: 'b', text: 'b', fact: { ...toIris, causalDepth: 2 } })],
      [5_000, said({ id: 'c', text: 'c', fact: { ...toIris, causalDepth: 3 } })],
    ]);
    expect(played.ends).toStrictEqual(['accepted', 'accepted', 'loop_guard']);
    expect(played.events.map(({ data }) => data.causalDepth)).toStrictEqual([3]);
    expect(played.left).toContainEqual({
      message: 'm2',
      effect: { do: 'outcome', status: 'loop_guard', reason: 'causal_depth' },
    });
  });

  test('it holds for what has an event type of its own, in any channel', () => {
    const typed = (id: string) => {
      const own = { actorEventType: 'ci.run.finished', channel: { kind: 'issue' } };
      return said({ id, text: id, fact: { ...otto, ...own } });
    };
    expect(
      play([
        [0, typed('a')],
        [1, typed('b')],
        [2, typed('c')],
      ]).ends,
    ).toStrictEqual(['accepted', 'accepted', 'loop_guard']);
  });
});

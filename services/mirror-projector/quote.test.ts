import { describe, expect, test } from 'vitest';
import { playOn, type Steps, said, toIris } from '../../shared/testing/chat.ts';
import { defaultAt as t0 } from '../../shared/testing/spec.ts';

import { stage } from './stage.ts';

const play = (steps: Steps, options?: Parameters<typeof playOn>[2]) => playOn(stage, steps, options);
describe('quotes', () => {
  const reply = (to: string, more = {}) => ({ replyToSourceEntryId: to, ...more });
  const agent = { author: { id: 'b-1', kind: 'bot', agentUid: 'iris' } };

  test('55: a reply to something unknown addresses nobody, and its batch remembers the target', () => {
    const played = play([[0, said({ id: 'a', text: 'a', fact: reply('e-4') })]]);
    expect(played.ends).toStrictEqual(['recorded']);
    expect(played.open[0]).toMatchObject({
      replyToSourceEntryId: 'e-4',
      entries: [{ replyTo: { resolution: 'unresolved', sourceEntryId: 'e-4' } }],
    });
  });

  test('56: a reply to the agent addresses it, and quotes what it said then', () => {
    const steps = [
      [0, said({ id: 'r', text: 'my answer', fact: { ...agent, providerTime: t0 } })],
      [1_000, said({ id: 'a', text: 'really?', fact: reply('r') })],
      [1_500, said({ id: 'r', event: 'edit', text: 'changed', fact: { ...agent, providerTime: t0 + 1_500 } })],
    ] as const;
    const played = play(steps, { until: 5_000 });
    expect(played.ends[1]).toBe('accepted');
    expect(played.events[0]?.data.entry?.replyTo).toMatchObject({
      resolution: 'resolved',
      role: 'agent',
      text: 'my answer',
    });
    expect(played.mirrored.get('r')?.text).toBe('changed');
  });

  test('57: a reply in a thread that the agent wrote in addresses it', () => {
    const inThread = { providerThreadId: 'th-z' };
    const played = play([
      [0, said({ id: 'r', text: 'my answer', fact: { ...agent, ...inThread } })],
      [5_000, said({ id: 'a', text: 'a', fact: reply('unknown', inThread) })],
      [5_000, said({ id: 'b', text: 'b', by: 'jonas', fact: reply('unknown', { providerThreadId: 'th-y' }) })],
      [6_000, said({ id: 's', text: 'own', fact: { ...agent, ...reply('a', inThread) } })],
    ]);
    expect(played.ends).toStrictEqual(['recorded', 'accepted', 'recorded', 'recorded']);
  });

  test('58: files are quoted where the route was given them itself, or the agent wrote them', () => {
    const file = { attachments: [{ providerRef: 'f:1' }] };
    const quoted = (agentUid: string) =>
      play(
        [
          [0, said({ id: 'q', text: 'text', agentUid, fact: file })],
          [5_000, said({ id: 'a', text: 'a', fact: { ...toIris, ...reply('q') } })],
        ],
        { until: 9_000 },
      ).events[0]?.data.entry?.replyTo;
    expect(quoted('otto')).toStrictEqual({
      sourceEntryId: 'q',
      resolution: 'resolved',
      role: 'human',
      author: { id: 'mei', kind: 'user' },
      text: 'text',
    });
    expect(quoted('iris')).toMatchObject(file);
  });

  test('a reply to what still waits quotes it, though the mirror does not show it', () => {
    const played = play([
      [0, said({ id: 'q', text: 'secret', policy: 'ignore' })],
      [100, said({ id: 'a', text: 'a', by: 'jonas', policy: 'ignore', fact: { ...toIris, ...reply('q') } })],
    ]);
    expect(played.open.at(-1)?.entries[0]?.replyTo).toMatchObject({ resolution: 'resolved', text: 'secret' });
  });
});

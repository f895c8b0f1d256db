import { describe, expect, test } from 'vitest';
import { playOn, type Steps, said, toIris, waiting } from '../../shared/testing/chat.ts';
import { defaultAt as t0 } from '../../shared/testing/spec.ts';

import { stage } from './stage.ts';

const play = (steps: Steps, options?: Parameters<typeof playOn>[2]) => playOn(stage, steps, options);
describe('commands', () => {
  const command = (text: string, more: Record<string, unknown> = toIris) =>
    play([[0, said({ id: 'a', text, fact: more })]], { until: 9_000 }).events[0];

  test('70: a command is an event at once', () => {
    const played = play([[0, said({ id: 'a', text: '/compress last week', fact: toIris })]]);
    expect(played.ends).toStrictEqual(['accepted']);
    expect(played.open).toStrictEqual([]);
    expect(played.events[0]).toMatchObject({
      type: 'command.compress',
      data: { command: { name: 'compress', argsText: 'last week', raw: '/compress last week' }, availableAt: t0 },
    });
  });

  test('71: a steer too, without a batch', () => {
    expect(command('/steer shorter')).toMatchObject({ type: 'command.steer', data: { availableAt: t0 } });
  });

  test('72: an unknown name and a full-width slash are text', () => {
    for (const text of ['/undo', '／retry']) expect(command(text)?.type).toBe('im.message.addressed');
  });

  test('73: a mention may stand before it, and full-width spaces and digits count as plain ones', () => {
    const event = command('@iris /retry\u3000\uff13\nplease', { ...toIris, commandPrefixes: ['@iris'] });
    expect(event?.data.command).toMatchObject({ name: 'retry', argsText: '3\nplease' });
  });

  test('74: llm alone asks for help, with a profile it changes the model', () => {
    expect(command('/llm')).toMatchObject({ type: 'command.llm_help' });
    expect(command('/llm')?.data.command).not.toHaveProperty('modelProfile');
    expect(command('/llm Opus')).toMatchObject({
      type: 'command.llm',
      data: { command: { modelProfile: 'opus', argsText: '' } },
    });
  });

  test('75: a command in a line to nobody is text', () => {
    const played = play([[0, said({ id: 'a', text: '/stop' })]]);
    expect(played.ends).toStrictEqual(['recorded']);
  });

  test('78, 79: a retry of what is not known names no target', () => {
    for (const event of [
      command('/retry actor-event::1', { ...toIris, replyToSourceEntryId: 'x' }),
      command('/retry', { ...toIris, replyToSourceEntryId: 'x' }),
    ]) {
      expect(event?.data.command?.targetActorEventId).toBeNull();
      expect(event?.data.session.sessionId).toBe('signal-channel:chat:77');
    }
  });

  test('80: a bare retry has no target at all, and stays in its session', () => {
    expect(command('/retry')?.data.command).not.toHaveProperty('targetActorEventId');
    expect(command('/retry')?.data.session.sessionId).toBe('signal-channel:chat:77');
  });

  test('a command closes what its sender asked before it, and a stop overtakes it', () => {
    const asked = [0, said({ id: 'a', text: 'question', fact: toIris })] as const;
    const types = (text: string) =>
      play([asked, [100, said({ id: 'b', text, fact: toIris })]], { until: 5_000 }).events.map(({ type }) => type);
    expect(types('/new')).toStrictEqual(['im.message.addressed', 'command.new']);
    expect(types('/stop')).toStrictEqual(['command.stop', 'im.message.addressed']);
  });

  test("a command leaves another person's request alone", () => {
    const played = play([
      [0, said({ id: 'a', text: 'question', by: 'jonas', fact: toIris })],
      [100, said({ id: 'b', text: '/new', fact: toIris })],
    ]);
    expect(played.events.map(({ type }) => type)).toStrictEqual(['command.new']);
    expect(waiting(played)).toStrictEqual(['addressed a +1000']);
  });

  test('a command told again under another event runs once', () => {
    const played = play([
      [0, said({ id: 'a', text: '/new', fact: toIris })],
      [100, said({ id: 'a', event: 'again', text: '/new', fact: toIris })],
    ]);
    expect(played.ends).toStrictEqual(['accepted', 'duplicate']);
    expect(played.events).toHaveLength(1);
  });
});

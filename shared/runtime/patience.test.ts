import { expect, test } from 'vitest';
import { BusError } from '../errors.ts';
import { patiently } from './patience.ts';

const clock = { now: () => 0, sleep: async () => undefined };

/** Fails some times, then answers. */
function failing(times: number, error: Error): { readonly ask: () => Promise<string>; readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    async ask() {
      asked++;
      if (asked <= times) throw error;
      return 'answer';
    },
  };
}

test('what may help is tried again, for a bounded number of times', async () => {
  const away = new BusError('infrastructure-unavailable');
  expect(await patiently(clock, failing(3, away).ask)).toBe('answer');
  const never = failing(1_000, away);
  await expect(patiently(clock, never.ask)).rejects.toBe(away);
  expect(never.asked()).toBe(20);
});

test('what cannot help is not tried again', async () => {
  const missing = failing(1, new BusError('topic-missing'));
  await expect(patiently(clock, missing.ask)).rejects.toMatchObject({ code: 'topic-missing' });
  expect(missing.asked()).toBe(1);
});

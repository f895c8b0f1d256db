import { expect, test } from 'vitest';
import { BusError } from '../../../shared/errors.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { answerOf } from './answer.ts';

test('an answer is taken, a failure of the world is kept, a fault of ours passes through', async () => {
  const away = new BusError('infrastructure-unavailable', { system: 'redis' });
  const ask = <T>(question: () => Promise<T>) => answerOf(systemClock, 60_000, question);
  expect(await ask(async () => 7)).toEqual({ type: 'answered', value: 7 });
  expect(await ask(() => Promise.reject(away))).toEqual({ type: 'failed', error: away });
  await expect(ask(() => Promise.reject(new TypeError('ours')))).rejects.toThrow('ours');
});

test('no answer is waited for longer than the limit', async () => {
  const late = await answerOf(systemClock, 5, () => new Promise(() => undefined));
  expect(late).toMatchObject({ type: 'failed', error: { code: 'infrastructure-unavailable' } });
});

import { expect, test } from 'vitest';
import { runSeeds } from './run-seeds.ts';

const seeds = Number(process.env.SEEDS ?? 400);

test(`a stage that is rebuilt while facts flow equals the plain fold, in ${seeds} storms that kill owners and rebuilds`, async () => {
  const { done, wrong } = await runSeeds({ scenario: 'rebuilds', seeds });
  expect({ done, wrong }).toEqual({ done: seeds, wrong: [] });
});

test(`who reads its rows meanwhile sees no gap and no step back, in ${seeds} storms with a store that keeps what it has`, async () => {
  const { done, wrong } = await runSeeds({ scenario: 'readers', seeds });
  expect({ done, wrong }).toEqual({ done: seeds, wrong: [] });
});

test('who goes to the generation in use at once does see one', async () => {
  const { wrong } = await runSeeds({ scenario: 'impatient-readers', seeds: 400, untilWrong: true });
  expect(wrong.length).toBeGreaterThan(0);
});

import { expect, test } from 'vitest';
import { bindings } from '../../schemas/binding.ts';
import { exampleFact } from '../../schemas/normalized-fact.ts';
import { tryFilter } from './trial.ts';

const trial = (cel: string | undefined) =>
  tryFilter({ ...bindings.example, filters: cel === undefined ? {} : { cel } }, exampleFact, { at: 0, maxWork: 1e9 });

const entry = "signal.kind == 'entry_received'";
const reaction = "signal.kind == 'reaction'";
const issue = "signal.channel.kind == 'issue'";
const part = (text: string, outcome: 'true' | 'false') => ({ text, outcome });

test.each([
  [undefined, 'passes', 'there is no filter', []],
  [entry, 'passes', 'the filter is true', []],
  [reaction, 'filtered', 'the filter is false', []],
  [`${entry} && ${issue}`, 'passes', 'the filter is true', [part(entry, 'true'), part(issue, 'true')]],
  [`${entry} && ${reaction}`, 'filtered', `${reaction} is false`, [part(entry, 'true'), part(reaction, 'false')]],
  [`${reaction} || ${issue}`, 'passes', `${issue} is true`, [part(reaction, 'false'), part(issue, 'true')]],
  [
    `${entry} && (${reaction} || ${issue}) && !(${reaction})`,
    'passes',
    'the filter is true',
    [part(entry, 'true'), part(`${reaction} || ${issue}`, 'true'), part(`!(${reaction})`, 'true')],
  ],
  [
    `((signal.kind)) == (('reaction')) || (${issue})`,
    'passes',
    `${issue} is true`,
    [part("((signal.kind)) == (('reaction'))", 'false'), part(issue, 'true')],
  ],
] as const)('%s: %s, since %s', (cel, outcome, reason, parts) => {
  expect(trial(cel)).toEqual({ outcome, reason, parts });
});

test('of a filter that fails, the reason and the part that fails are told', () => {
  const failing = "signal.entry.title.contains('x')";
  expect(trial(`${entry} && ${failing}`)).toEqual({
    outcome: 'failed',
    reason: expect.stringContaining(failing),
    parts: [
      part(entry, 'true'),
      { text: failing, outcome: 'failed', reason: expect.stringContaining('at character 1') },
    ],
  });
  expect(trial('signal.entry.text')).toMatchObject({
    outcome: 'failed',
    reason: 'the filter gave something other than true or false',
  });
});

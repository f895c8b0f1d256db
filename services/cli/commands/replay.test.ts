import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RawProviderFact, rawProviderFacts } from '../../../schemas/raw-provider-fact.ts';
import { createTestWorld, type TestWorld } from '../test-world.ts';

const environment = {
  SIGNALBOX_PARTITIONS: '3',
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  HOOK: 'secret',
};
const fixture: { readonly body: { readonly comment: object; readonly issue: object } } = JSON.parse(
  readFileSync(
    new URL('../../../shared/providers/github/fixtures/issue_comment_created.json', import.meta.url),
    'utf8',
  ),
);
const channel = (issue: number) => `github:Codertocat/Hello-World#${issue}`;
const texts = ['a bug', 'a thought', 'another bug', 'a word'];

/** The comment of a number, in the issue of its parity. */
const comment = (number: number): RawProviderFact =>
  RawProviderFact.parse({
    id: `raw-${number}`,
    provider: 'github',
    connectionId: 'octo',
    kind: 'events',
    eventId: `event-${number}`,
    event: 'issue_comment',
    signalChannelId: channel(1 + (number % 2)),
    receivedAt: Date.now(),
    body: JSON.stringify({
      ...fixture.body,
      issue: { ...fixture.body.issue, number: 1 + (number % 2) },
      comment: { ...fixture.body.comment, id: 100 + number, body: texts[number] },
    }),
    bodyEncoding: 'utf-8',
  });

let world: TestWorld;
const bindDesk = (...flags: readonly string[]) =>
  world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo', ...flags);
const bugs = ['--filter', "signal.entry.text.contains('bug')"] as const;
const words = ['--filter', "signal.entry.text.contains('a word')"] as const;

beforeEach(async () => {
  world = createTestWorld(environment);
  await world.run('migrate');
  await world.run('connections', 'put', 'octo', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK');
  await bindDesk(...bugs);
  await world.run('bindings', 'put', 'zoe', 'all', '--connection', 'octo');
  await world.start('normalizer', 'filter', 'mirror-projector', 'decision-journal');
  for (const number of texts.keys()) await world.publish(rawProviderFacts, comment(number));
  await eventually(async () => {
    for (const stage of ['filter', 'mirror-projector']) {
      const { records, undecided } = await replayed(stage);
      expect([records, undecided]).toEqual([stage === 'filter' ? 4 : 6, 0]);
    }
  });
});
afterEach(() => world.stop());

const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 10_000, interval: 20 });
const replayed = async (stage: string, ...flags: readonly string[]) =>
  Object(await world.json('replay', stage, '--from', '1h', ...flags));
const told = (differences: readonly Record<string, unknown>[]) =>
  differences.map(({ rootId, route, was, now }) => [rootId, route, was, now]).sort();

test('with the same code and bindings nothing is decided otherwise', async () => {
  for (const stage of ['normalizer', 'filter', 'mirror-projector', 'decision-journal']) {
    const found = await eventually(async () => {
      const value = await replayed(stage);
      expect(value.undecided).toBe(0);
      return value;
    });
    expect(found).toMatchObject({ tallies: [], differences: [], shortened: [] });
    expect(found.records).toBeGreaterThan(0);
  }
  expect((await world.run('replay', 'filter', '--from', '1h')).out).toMatch(
    /^filter, .+ to .+: 4 records decided again\.\nNo difference\.$/,
  );
});

test('a filter is tried before it is saved', async () => {
  const tried = await replayed('filter', '--binding', 'iris/desk', ...words);
  expect(tried.tallies).toEqual([
    { end: 'accepted', more: 1, fewer: 2 },
    { end: 'filtered', more: 2, fewer: 1 },
  ]);
  expect(told(tried.differences)).toEqual([
    ['raw-0', 'iris|desk', ['accepted'], ['filtered']],
    ['raw-2', 'iris|desk', ['accepted'], ['filtered']],
    ['raw-3', 'iris|desk', ['filtered'], ['accepted']],
  ]);
  const without = await replayed('filter', '--binding', 'iris/desk', '--without');
  expect(told(without.differences)).toEqual([
    ['raw-1', 'iris|desk', ['filtered'], ['accepted']],
    ['raw-3', 'iris|desk', ['filtered'], ['accepted']],
  ]);
  const absent = await replayed('filter', '--binding', 'zoe/all', '--absent');
  expect(absent.tallies).toEqual([{ end: 'accepted', more: 0, fewer: 4 }]);
  const { out } = await world.run('bindings', 'show', 'iris', 'desk');
  expect(out).toContain("contains('bug')");
});

test('a filter that was changed since shows in what would be decided now, of all keys or of one', async () => {
  await bindDesk(...words);
  const { out } = await world.run('replay', 'filter', '--from', '1h', '--limit', '1');
  expect(out).toContain('1 more accepted, 2 fewer\n2 more filtered, 1 fewer');
  expect(out).toMatch(
    /raw-\d +iris\/desk +(accepted +filtered|filtered +accepted) +\d+\/\d+\n2 more; --limit shows them\.$/,
  );
  const ofOne = await replayed('filter', '--key', channel(2));
  expect(ofOne.records).toBe(2);
  expect(told(ofOne.differences)).toEqual([['raw-3', 'iris|desk', ['filtered'], ['accepted']]]);
});

test('a stage that keeps rows is folded from before, so that what it knew then it knows again', async () => {
  await world.publish(rawProviderFacts, comment(1));
  await eventually(async () => {
    const { records, undecided } = await replayed('mirror-projector');
    expect([records, undecided]).toEqual([7, 0]);
  });
  const since = new Date(Date.now() - 1).toISOString();
  await world.publish(rawProviderFacts, comment(1));
  const found = await eventually(async () => {
    const value = Object(await world.json('replay', 'mirror-projector', '--from', since));
    expect([value.records, value.undecided]).toEqual([1, 0]);
    return value;
  });
  expect(found).toMatchObject({ keepsRows: true, differences: [] });
  expect(found.foldedBefore).toBeGreaterThan(0);
  const cold = Object(await world.json('replay', 'mirror-projector', '--from', since, '--warm-up', '0s'));
  expect(told(cold.differences)).toEqual([['raw-1', '', ['duplicate (same_event)'], ['accepted', 'wake']]]);
});

test.each([
  [['--from', 'yesterday'], '--from: must be like 2h'],
  [['--from', '1h', '--to', '2h'], '--from is not before --to'],
  [['--from', '1h', '--filter', 'true'], '--binding goes with one of'],
  [['--from', '1h', '--binding', 'iris/desk'], '--binding goes with one of'],
  [['--from', '1h', '--binding', 'iris/none', '--without'], 'binding-not-found'],
  [['--from', '1h', '--binding', 'iris/desk', '--filter', 'signal.kind =='], 'unexpected_token'],
  [['--from', '1h', '--most', '1'], 'more than --most allows'],
])('what cannot be replayed is told: %j', async (flags, text) => {
  const { code, out, notes } = await world.run('replay', 'filter', ...flags);
  expect([code > 0, out]).toEqual([true, '']);
  expect(notes).toContain(text);
});

test('a stage that reads no bindings cannot be tried with one', async () => {
  const { notes } = await world.run('replay', 'normalizer', '--from', '1h', '--binding', 'iris/desk', '--without');
  expect(notes).toContain('normalizer reads no bindings');
});

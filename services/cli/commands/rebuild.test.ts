import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RawProviderFact, rawProviderFacts } from '../../../schemas/raw-provider-fact.ts';
import { createTestWorld, type TestWorld } from '../test-world.ts';

const environment = {
  SIGNALBOX_PARTITIONS: '3',
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  HOOK: 'secret',
};
const fixture: { readonly body: unknown } = JSON.parse(
  readFileSync(
    new URL('../../../shared/providers/github/fixtures/issue_comment_created.json', import.meta.url),
    'utf8',
  ),
);

const comment = (id: string): RawProviderFact =>
  RawProviderFact.parse({
    id,
    provider: 'github',
    connectionId: 'octo',
    kind: 'events',
    eventId: `event of ${id}`,
    event: 'issue_comment',
    signalChannelId: 'github:Codertocat/Hello-World#1',
    receivedAt: Date.now(),
    body: JSON.stringify(fixture.body),
    bodyEncoding: 'utf-8',
  });

let world: TestWorld;
beforeEach(async () => {
  world = createTestWorld(environment);
  await world.run('migrate');
  await world.run('connections', 'put', 'octo', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK');
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  await world.start('normalizer', 'filter', 'mirror-projector', 'decision-journal');
});
afterEach(() => world.stop());

const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 10_000, interval: 20 });
const told = (id: string, end: string) =>
  eventually(async () => expect((await world.run('why', id)).out).toContain(end));

test('a stage at work is rebuilt, and goes on in what was rebuilt', async () => {
  await world.publish(rawProviderFacts, comment('raw-1'));
  await told('raw-1', 'accepted');
  // What a decision was sent of is saved a moment later.
  const rebuilt = await eventually(async () => {
    const value = await world.json('rebuild', 'decision-journal', '--grace', '0s');
    expect(Object(value).records).toBe(1);
    return value;
  });
  expect(rebuilt).toMatchObject({ type: 'rebuilt', stage: 'decision-journal', resumed: false, partitions: 3 });
  expect(Object(rebuilt).removed).toBeGreaterThan(0);
  await told('raw-1', 'accepted');

  await world.publish(rawProviderFacts, comment('raw-2'));
  await told('raw-2', 'duplicate');
  const { out, notes } = await eventually(async () => {
    const printed = await world.run('rebuild', 'mirror-projector', '--grace', '0s');
    expect(printed.out).toMatch(/^mirror-projector is rebuilt, as generation \d+\.\n2 records in \d+\.\d s/);
    return printed;
  });
  expect(out).not.toContain('have left the topic');
  expect(notes).toMatch(
    /^Folding accepted-facts anew, as generation \d+ of mirror-projector\.\nGeneration \d+ is in use\.$/,
  );
  await world.publish(rawProviderFacts, comment('raw-3'));
  await told('raw-3', 'duplicate');
});

test('there is nothing to abandon where nothing is being rebuilt', async () => {
  expect((await world.run('rebuild', 'filter', '--abandon')).out).toBe('Nothing was being rebuilt; 0 keys removed.');
});

test('a stage that does not exist is typed wrong', async () => {
  expect(await world.run('rebuild', 'nobody')).toMatchObject({ code: 2, out: '' });
});

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RawProviderFact, rawProviderFacts } from '../../../schemas/raw-provider-fact.ts';
import { createTestWorld, type TestWorld } from '../test-world.ts';

const environment = {
  SIGNALBOX_PARTITIONS: '3',
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  HOOK: 'secret',
  NORMALIZER_MAX_ADAPTER_FAILURES: '3',
};
const fixture: { readonly body: { readonly comment: object; readonly sender: object } } = JSON.parse(
  readFileSync(
    new URL('../../../shared/providers/github/fixtures/issue_comment_created.json', import.meta.url),
    'utf8',
  ),
);

/** A comment of the account with this id, or a delivery that is none. */
const comment = (id: string, by: number | 'broken'): RawProviderFact => {
  const user = { id: by, login: 'somebody', type: 'User' };
  const body = { ...fixture.body, sender: user, comment: { ...fixture.body.comment, id: id.length, user } };
  return RawProviderFact.parse({
    id,
    provider: 'github',
    connectionId: 'octo',
    kind: 'events',
    eventId: `event-of-${id}`,
    event: 'issue_comment',
    signalChannelId: 'github:Codertocat/Hello-World#1',
    receivedAt: Date.now(),
    body: JSON.stringify(by === 'broken' ? { action: 'created' } : body),
    bodyEncoding: 'utf-8',
  });
};

let world: TestWorld;

const connect = (config: object = {}) =>
  world.json(
    ...['connections', 'put', 'octo', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'],
    ...['--config', JSON.stringify(config)],
  );

beforeEach(async () => {
  world = createTestWorld(environment);
  await world.run('migrate');
  await connect();
  for (const agent of ['iris', 'otto']) await world.json('bindings', 'put', agent, 'desk', '--connection', 'octo');
  await world.start('normalizer', 'filter', 'mirror-projector', 'decision-journal');
});
afterEach(() => world.stop());

const soon = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 10_000, interval: 20 });

/** What `signalbox why` says became of a fact, once it says all of these. */
const told = (id: string, ...texts: readonly RegExp[]): Promise<string> =>
  soon(async () => {
    const { out } = await world.run('why', id);
    for (const text of texts) expect(out).toMatch(text);
    return out;
  });

const accepted = (agent: string): RegExp => new RegExp(`mirror-projector: ✔ accepted +for ${agent}/desk`);

const reasons = async (): Promise<readonly unknown[]> => {
  const rows = (await world.json('bindings', 'list')) as readonly { readonly unavailableReason: unknown }[];
  return rows.map(({ unavailableReason }) => unavailableReason);
};

test('bindings of a connection that cannot be read say why, take nothing, and what they missed can be redriven', async () => {
  for (const id of ['bad-1', 'bad-2', 'bad-3']) await world.publish(rawProviderFacts, comment(id, 'broken'));
  const reason = expect.stringMatching(/^3 deliveries in a row could not be read, the last one: payload-invalid/);
  await soon(async () => expect(await reasons()).toEqual([reason, reason]));
  expect(await world.json('bindings', 'show', 'iris', 'desk')).toMatchObject({ unavailableReason: reason });

  await world.json('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  expect(await reasons()).toEqual([null, reason]);
  await world.publish(rawProviderFacts, comment('good', 7));
  await told('good', accepted('iris'), /dead_letter +for otto\/desk +binding_unavailable/);

  await connect();
  expect(await reasons()).toEqual([null, null]);
  await world.json('dlq', 'redrive', '--stage', 'filter', '--code', 'binding_unavailable', '--yes');
  await told('good', accepted('iris'), accepted('otto'));
});

test('what another writes reaches every binding of a connection, and what we wrote reaches none', async () => {
  await connect({ ownAccountIds: [31] });
  expect(await world.json('connections', 'show', 'octo')).toMatchObject({ config: { ownAccountIds: [31] } });
  await world.publish(rawProviderFacts, comment('another', 7));
  await world.publish(rawProviderFacts, comment('our-own', 31));
  await told('another', accepted('iris'), accepted('otto'));
  const own = await told('our-own', /ignored_own_message/);
  expect(own).not.toContain('normalized-facts');
});

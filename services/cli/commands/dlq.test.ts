import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RawProviderFact, rawProviderFacts } from '../../../schemas/raw-provider-fact.ts';
import { createTestWorld, type TestWorld } from '../test-world.ts';

const environment = {
  SIGNALBOX_PARTITIONS: '3',
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  HOOK: 'secret',
};
const pipeline = ['normalizer', 'filter', 'mirror-projector', 'decision-journal'] as const;
const fixture: { readonly body: unknown } = JSON.parse(
  readFileSync(
    new URL('../../../shared/providers/github/fixtures/issue_comment_created.json', import.meta.url),
    'utf8',
  ),
);
const channel = 'github:Codertocat/Hello-World#1';
const octo = ['connections', 'put', 'octo', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'] as const;

const comment = (id: string, more: Partial<Record<keyof RawProviderFact, unknown>> = {}): RawProviderFact =>
  RawProviderFact.parse({
    id,
    provider: 'github',
    connectionId: 'octo',
    kind: 'events',
    eventId: `event of ${id}`,
    event: 'issue_comment',
    signalChannelId: channel,
    receivedAt: Date.now(),
    body: JSON.stringify(fixture.body),
    bodyEncoding: 'utf-8',
    ...more,
  });

let world: TestWorld;
beforeEach(async () => {
  world = createTestWorld(environment);
  await world.run('migrate');
});
afterEach(() => world.stop());

interface Listed {
  readonly position: string;
  readonly rootId: string;
  readonly part?: string;
  readonly redrivenAt?: number;
}
const letters = async (...args: readonly string[]): Promise<readonly Listed[]> =>
  Object(await world.json('dlq', 'list', ...args)).letters;
const roots = async (...args: readonly string[]) => (await letters(...args)).map(({ rootId }) => rootId);
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 10_000, interval: 20 });
const untilListed = (count: number) =>
  eventually(async () => {
    const found = await letters();
    expect(found).toHaveLength(count);
    return found;
  });
/** How a fact ended, route by route, as `signalbox why` tells it, once it ended so often. */
const endsOf = (id: string, count: number): Promise<readonly string[]> =>
  eventually(async () => {
    const { out } = await world.run('why', id);
    const ends = [...out.matchAll(/([\w-]+): . (\w+)(?: +for (\S+))?/g)].map(([, , end, route]) =>
      [end, route].filter((word) => word !== undefined).join(' '),
    );
    expect(ends).toHaveLength(count);
    expect(out).not.toContain('waiting');
    return ends.toSorted();
  });
/** Without what differs between runs. */
const steady = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d [\d:.]+Z/g, 'WHEN')
    .replaceAll(/\/\d+\/\d+/g, '/P/O')
    .replaceAll(/\d{4,} bytes/g, 'MANY bytes')
    .replaceAll(/ {2,}/g, '  ');

/** Three facts of a connection that does not exist, and bytes that are no record. */
async function rejectSome(): Promise<void> {
  await world.start(...pipeline);
  for (const id of ['raw-1', 'raw-2', 'raw-3']) await world.publish(rawProviderFacts, comment(id));
  await untilListed(3);
  await world.receiveBytes(1, Buffer.from('{"a":"\u001b[2J"}'));
  await untilListed(4);
}

test('letters are listed newest first and counted by stage and code', async () => {
  expect((await world.run('dlq', 'list')).out).toBe('No dead letters.');
  await rejectSome();
  const { out } = await world.run('dlq', 'list', '--limit', '2');
  expect(steady(out)).toBe(
    [
      'position  age  stage  code  part  key  fact  redriven',
      'dead-letters/P/O  just now  normalizer  frame-invalid  k  raw-provider-facts/P/O',
      `dead-letters/P/O  just now  normalizer  connection-unknown  ${channel}  raw-3`,
      '',
      '2 older ones are left out; --limit shows more.',
      '',
      'stage  code  letters  redriven',
      'normalizer  connection-unknown  3  0',
      'normalizer  frame-invalid  1  0',
    ].join('\n'),
  );
  expect(await world.json('dlq', 'list', '--summary')).toEqual({
    letters: [],
    total: 4,
    counts: [
      { stage: 'normalizer', code: 'connection-unknown', letters: 3, redriven: 0 },
      { stage: 'normalizer', code: 'frame-invalid', letters: 1, redriven: 0 },
    ],
  });
});

test('filters choose by stage, code, key and time', async () => {
  await rejectSome();
  const facts = ['raw-3', 'raw-2', 'raw-1'];
  expect(await roots('--code', 'connection-unknown')).toEqual(facts);
  expect(await roots('--stage', 'normalizer', '--key', channel)).toEqual(facts);
  expect(await roots('--stage', 'filter')).toEqual([]);
  expect([await roots('--since', '1h', '--key', 'k'), await roots('--until', '1h')]).toEqual([
    [expect.stringMatching('raw-provider-facts/1/0')],
    [],
  ]);
  const wrong = await world.run('dlq', 'list', '--since', 'yesterday', '--code', 'nonsense');
  expect([wrong.code, wrong.out]).toEqual([2, '']);
  expect(wrong.notes).toMatch(/--code: .*\n--since: must be like 90s/);
});

test('a letter is shown without its content, and with it after a warning, and nothing in it steers the terminal', async () => {
  await rejectSome();
  const [poison, third] = await letters();
  const { out } = await world.run('dlq', 'show', third?.position ?? '');
  expect(steady(out)).toBe(
    [
      'position  dead-letters/P/O',
      'rejected  WHEN (just now) by normalizer',
      'code  connection-unknown  No connection of this id is configured.',
      'connectionId  octo',
      'provider  github',
      'record  raw-provider-facts/P/O, MANY bytes',
      `key  ${channel}`,
      'fact  raw-3',
      'message  raw-3',
      '',
      '→ Create it with `signalbox connections put`, then `signalbox dlq redrive`.',
      '→ signalbox dlq redrive dead-letters/P/O',
    ].join('\n'),
  );
  const shown = await world.run('dlq', 'show', poison?.position ?? '', '--content');
  expect(shown.out).toContain('\n{"a":"\\u001b[2J"}\n');
  expect(shown.notes).toContain('What follows came from outside.');
  const fact = Object(await world.json('dlq', 'show', third?.position ?? '', '--content'));
  expect(fact.content).toEqual({
    type: 'frame',
    schemaId: expect.any(Number),
    value: expect.objectContaining({ id: 'raw-3' }),
  });
});

test('a place without a letter is not found, and what is no place is refused', async () => {
  for (const command of ['show', 'redrive']) {
    const missing = await world.run('dlq', command, 'dead-letters/0/99');
    expect([missing.code, missing.notes]).toEqual([1, expect.stringContaining('dead-letter-not-found')]);
    expect((await world.run('dlq', command, 'raw-provider-facts/0/0')).code).toBe(2);
  }
  const both = await world.run('dlq', 'redrive', 'dead-letters/0/0', '--stage', 'filter');
  expect([both.code, both.notes]).toEqual([2, expect.stringContaining('not both')]);
});

test('a dry run tells what would be done and does nothing, and nobody is taken by surprise', async () => {
  await rejectSome();
  const dry = await world.run('dlq', 'redrive', '--code', 'connection-unknown', '--limit', '2', '--dry-run');
  expect(steady(dry.out)).toContain(`connection-unknown  ${channel}  raw-1\n`);
  expect(dry.out).toContain('Would redrive 2 dead letters, 50 a second at most.');
  expect(dry.out).not.toContain('raw-3');
  const unasked = await world.run('dlq', 'redrive');
  expect([unasked.code, unasked.notes]).toEqual([2, expect.stringContaining('--yes')]);
  expect((await letters()).map(({ redrivenAt }) => redrivenAt)).toEqual(Array.from({ length: 4 }, () => undefined));
});

test('once the cause is mended, facts go on as what they were; redriven again, they are duplicates', async () => {
  await rejectSome();
  await world.run(...octo);
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  const chosen = ['--code', 'connection-unknown'] as const;
  const { out } = await world.run('dlq', 'redrive', ...chosen, '--yes');
  expect(out).toContain('Redrove 3 dead letters.');
  expect(await endsOf('raw-1', 2)).toEqual(['accepted iris/desk', 'dead_letter']);

  const [third] = await letters(...chosen);
  expect(third).toMatchObject({ rootId: 'raw-3', redrivenAt: expect.any(Number) });
  expect((await world.run('dlq', 'redrive', ...chosen, '--yes')).out).toBe(
    'Nothing to redrive.\n\n3 dead letters were redriven before; --again includes them.',
  );
  const first = (await letters(...chosen)).at(-1)?.position ?? '';
  expect((await world.run('dlq', 'redrive', first, '--again', '--yes')).out).toContain('Redrove 1 dead letter.');
  expect(await endsOf('raw-1', 3)).toEqual(['accepted iris/desk', 'dead_letter', 'duplicate iris/desk']);

  const shown = steady((await world.run('dlq', 'show', first)).out);
  const redriven = 'redriven  WHEN (just now) as raw-provider-facts/P/O, ended as mirror-projector:';
  expect(shown).toContain(`${redriven} accepted for iris/desk\n`);
  expect(shown).toContain(`${redriven} duplicate for iris/desk (same_event)\n`);
  expect(shown).toContain('dead-letters/P/O --again');
});

test('a mended filter gets the fact when its part is redriven, and the other bindings do not see it again', async () => {
  await world.run(...octo);
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  await world.run('bindings', 'put', 'iris', 'odd', '--connection', 'octo', '--filter', 'signal.nothing.at.all');
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-1'));
  const [letter] = await untilListed(1);
  expect(letter?.part).toBe('iris|odd');
  expect(await endsOf('raw-1', 2)).toEqual(['accepted iris/desk', 'dead_letter iris/odd']);

  await world.run('bindings', 'put', 'iris', 'odd', '--connection', 'octo');
  await world.run('dlq', 'redrive', letter?.position ?? '', '--yes');
  expect(await endsOf('raw-1', 3)).toEqual(['accepted iris/desk', 'accepted iris/odd', 'dead_letter iris/odd']);
});

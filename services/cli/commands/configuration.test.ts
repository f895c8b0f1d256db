import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SourceEventId } from '../../../schemas/ids.ts';
import { exampleFact, normalizedFacts } from '../../../schemas/normalized-fact.ts';
import { partitionOf } from '../../../shared/partition.ts';
import { createTestWorld, type TestWorld } from '../test-world.ts';

const firstKey = `k1:${Buffer.alloc(32, 1).toString('base64')}`;
const environment = { SIGNALBOX_PARTITIONS: '3', SIGNALBOX_SECRET_KEYS: firstKey, HOOK: 'from the environment' };
const octo = ['connections', 'put', 'octo', '--provider', 'github'] as const;

let folder = '';
let world: TestWorld;
const seconds = /\d{4}-\d\d-\d\d [\d:.]+Z/g;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-cli-'));
  writeFileSync(join(folder, 'secret'), 'from a file\n');
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  world = createTestWorld(environment, 'typed');
  await world.run('migrate');
});

test('a connection is shown without its secrets', async () => {
  const { code, out } = await world.run(...octo, '--secret', 'webhookSecret=env:HOOK', '--secret', 'webhookSecret=-');
  expect(out.replaceAll(seconds, 'NOW')).toBe(
    [
      'id        octo',
      'provider  github',
      'settings  {}',
      'secrets   webhookSecret (2, sealed with k1)',
      'webhooks  /webhooks/v1/github/octo/events',
      'changed   NOW (just now)',
    ].join('\n'),
  );
  expect(code).toBe(0);
  expect(await world.json('connections', 'show', 'octo')).toEqual({
    id: 'octo',
    provider: 'github',
    config: {},
    secrets: [{ name: 'webhookSecret', count: 2, keyIds: ['k1'] }],
    webhooks: ['/webhooks/v1/github/octo/events'],
    updatedAt: expect.any(Number),
  });
});

test('a secret comes from a file, and one that is not named again is kept', async () => {
  await world.run(...octo, '--secret', `webhookSecret=file:${join(folder, 'secret')}`);
  const { out } = await world.run('connections', 'put', 'octo');
  expect(out).toContain('webhookSecret (1, sealed with k1)');
});

test('a secret on the command line is refused and not repeated', async () => {
  const { code, out, notes } = await world.run(...octo, '--secret', 'webhookSecret=hunter2');
  expect([code, out]).toEqual([2, '']);
  expect(notes).toContain('--secret  must be NAME=env:VARIABLE, NAME=file:PATH or NAME=-');
  expect(notes).not.toContain('hunter2');
});

test('a secret among the open settings is refused', async () => {
  const { code, notes } = await world.run(...octo, '--config', '{"webhookSecret":"hunter2"}');
  expect(code).toBe(2);
  expect(notes).toContain('webhookSecret is a secret; give it as --secret webhookSecret=env:VARIABLE');
  expect(notes).not.toContain('hunter2');
});

test('a connection that lacks its secret, or has an unknown setting, is refused', async () => {
  expect((await world.run(...octo)).code).toBe(2);
  expect((await world.run(...octo, '--config', '{"x":1}', '--secret', 'webhookSecret=-')).code).toBe(2);
  expect((await world.run(...octo, '--config', '[]')).code).toBe(2);
  expect((await world.run(...octo, '--secret', 'webhookSecret=env:NOWHERE')).code).toBe(2);
  expect(await world.json('connections', 'list')).toEqual([]);
});

test('without a key nothing is sealed, and the failure says how to make one', async () => {
  const bare = createTestWorld({ SIGNALBOX_PARTITIONS: '3' });
  const { code, notes } = await bare.run(...octo);
  expect(code).toBe(1);
  expect(notes).toContain('key-missing');
  expect(notes).toContain('openssl rand -base64 32');
});

test('a binding needs its connection, and its names are tidied', async () => {
  expect((await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo')).notes).toContain(
    'connection-not-found',
  );
  await world.run(...octo, '--secret', 'webhookSecret=-');
  const { out } = await world.run('bindings', 'put', ' Iris ', ' desk ', '--connection', 'octo', '--policy', 'ignore');
  expect(out.replaceAll(seconds, 'NOW')).toBe(
    [
      'agent       iris',
      'name        desk',
      'state       enabled',
      'connection  octo (github)',
      'filter      everything passes',
      'policy      ignore',
      'windows     addressed              1s',
      '            addressed-attachments  1200ms',
      '            addressed-long-text    2s',
      '            neutral                600ms',
      '            neutral-attachments    1200ms',
      '            ambient                15s',
      '            ambient-most           5m',
      '            pending-attachment     4s',
      'edits       signal.entry.edited',
      'changed     NOW (just now)',
    ].join('\n'),
  );
});

test('a filter that is no CEL is refused when it is saved', async () => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  const { code, notes } = await world.run(
    'bindings',
    'put',
    'iris',
    'desk',
    '--connection',
    'octo',
    '--filter',
    'signal.(',
  );
  expect(code).toBe(2);
  expect(notes).toContain('invalid_binding_filter');
  expect(await world.json('bindings', 'list')).toEqual([]);
});

test('a binding has edits told as edits, unless it is put otherwise', async () => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo', '--no-edited-events');
  expect(await world.json('bindings', 'show', 'iris', 'desk')).toMatchObject({ entryEditedEvents: false });
  expect((await world.run('bindings', 'show', 'iris', 'desk')).out).toMatch(/edits +events of their own type/);
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  expect(await world.json('bindings', 'show', 'iris', 'desk')).not.toHaveProperty('entryEditedEvents');
});

test('windows are put one by one, shown beside their defaults, and have these again where they are not named', async () => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  const put = ['bindings', 'put', 'iris', 'desk', '--connection', 'octo'] as const;
  const { out } = await world.run(...put, '--window', 'addressed=1500ms', '--window', 'ambient-most=0ms');
  expect(out.split('\n').filter((line) => line.includes('default'))).toEqual([
    'windows     addressed              1500ms (default 1s)',
    '            ambient-most           0ms (default 5m)',
  ]);
  const binding = await world.json('bindings', 'show', 'iris', 'desk');
  expect(binding).toMatchObject({ windows: { addressedMs: 1_500, ambientMostMs: 0 } });
  await world.run(...put);
  expect(await world.json('bindings', 'show', 'iris', 'desk')).not.toHaveProperty('windows');
});

test.each([
  'addresed=1s',
  'addressed=soon',
  'addressed=2h',
  'addressed',
  'addressed=1s addressed=2s',
  'neutral=600ms ambient=-1s',
])('the windows %s are refused, and it is said which there are', async (typed) => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  const flags = typed.split(' ').flatMap((window) => ['--window', window]);
  const { code, notes } = await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo', ...flags);
  expect(code).toBe(2);
  expect(notes).toContain('--window: must be NAME=TIME, as addressed=1500ms, each NAME once and one of addressed, ');
  expect(notes).toContain('pending-attachment; TIME is from 0ms to 1h');
  expect(await world.json('bindings', 'list')).toEqual([]);
});

test('bindings are listed by agent and name, replaced whole and deleted', async () => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  const cel = "signal.kind == 'entry_received'";
  for (const [agent, name] of [
    ['zoe', 'a'],
    ['iris', 'b'],
    ['iris', 'a'],
  ] as const) {
    await world.run('bindings', 'put', agent, name, '--connection', 'octo', '--filter', cel, '--disabled');
  }
  await world.run('bindings', 'put', 'iris', 'a', '--connection', 'octo');
  const { out } = await world.run('bindings', 'list');
  expect(out).toBe(
    [
      'agent  name  connection  state     changed   filter',
      'iris   a     octo        enabled   just now  everything passes',
      `iris   b     octo        disabled  just now  ${cel}`,
      `zoe    a     octo        disabled  just now  ${cel}`,
    ].join('\n'),
  );
  expect((await world.run('bindings', 'delete', 'iris', 'b')).out).toBe('Deleted iris/b.');
  expect((await world.run('bindings', 'show', 'iris', 'b')).notes).toContain('binding-not-found');
  expect(await world.json('bindings', 'list', '--agent', 'IRIS')).toMatchObject([{ agentUid: 'iris', name: 'a' }]);
});

test('a connection that bindings use is not deleted, one that none uses is', async () => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  const refused = await world.run('connections', 'delete', 'octo');
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.notes).toMatch(/connection-in-use[\s\S]*bindings +iris desk/);
  await world.run('bindings', 'delete', 'iris', 'desk');
  expect((await world.run('connections', 'delete', 'octo')).out).toBe('Deleted octo.');
  expect((await world.run('connections', 'show', 'octo')).notes).toContain('connection-not-found');
});

test('a filter is tried on the newest facts of a binding, and each is told why', async () => {
  await world.run(...octo, '--secret', 'webhookSecret=-');
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
  const test = ['bindings', 'test', 'iris', 'desk'] as const;
  expect((await world.run(...test)).out).toBe('No fact of this connection among the newest 0 records.');
  for (const [index, text] of ['a bug', 'a question'].entries()) {
    await world.publish(normalizedFacts, { ...exampleFact, sourceEventId: SourceEventId.parse(`e${index}`), text });
  }
  const partition = partitionOf(exampleFact.signalChannelId, 3);
  const { code, out } = await world.run(...test, '--filter', "signal.entry.text.contains('bug')");
  expect({ code, lines: out.split('\n').map((line) => line.replaceAll(/ {2,}/g, '  ').trim()) }).toEqual({
    code: 0,
    lines: [
      'came  channel  fact  why',
      `filtered  just now  github:octo/repo#7  normalized-facts/${partition}/1  the filter is false`,
      `passes  just now  github:octo/repo#7  normalized-facts/${partition}/0  the filter is true`,
      '',
      '1 of 2 facts pass.',
    ],
  });
  expect(await world.json(...test, '--last', '1')).toMatchObject({
    filter: null,
    looked: 2,
    facts: [{ outcome: 'passes', reason: 'there is no filter' }],
  });
  expect(await world.run(...test, '--filter', '1 +')).toMatchObject({ code: 2, out: '' });
});

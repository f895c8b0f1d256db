import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Decision, decisions } from '../../../schemas/decision.ts';
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
const entry = 'issue_comment:492700400';

const comment = (id: string, more: Partial<Record<keyof RawProviderFact, unknown>> = {}): RawProviderFact =>
  RawProviderFact.parse({
    id,
    provider: 'github',
    connectionId: 'octo',
    kind: 'events',
    eventId: 'event-1',
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
  await world.run('connections', 'put', 'octo', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK');
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo');
});
afterEach(() => world.stop());

/** Without what differs between runs: times, offsets of decisions, the columns that depend on them. */
function steady(text: string): string {
  const [times = ''] = /^ *\+\d+ ms {2}[\d:.]{12} {2}/m.exec(text) ?? [];
  return text
    .replaceAll(/\d{4}-\d\d-\d\d [\d:.]+Z \([^)]*\), \d+ ms in all/g, 'WHEN')
    .replaceAll(/^ *\+\d+ ms {2}[\d:.]{12} {2}/gm, 'TIME ')
    .replaceAll(new RegExp(`^ {${times.length}}`, 'gm'), '     ')
    .replaceAll(/\/\d+\/\d+/g, '/P/O')
    .replaceAll(/(?<=\S)(?<!TIME) {2,}/g, '  ');
}

/** Asks until the answer holds a text. */
const told = (text: string, ...ids: readonly string[]): Promise<string> =>
  vi.waitFor(
    async () => {
      const { out, notes } = await world.run('why', ...ids);
      expect(out + notes).toContain(text);
      return steady(out);
    },
    { timeout: 10_000, interval: 20 },
  );

test('a fact that woke an agent is told hop by hop', async () => {
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-1'));
  expect(await told('actor-events/', 'raw-1')).toBe(
    [
      'raw-1',
      `connection octo · ${channel} · ${entry} · event event-1`,
      'WHEN',
      'accepted for iris/desk',
      '',
      'TIME raw-provider-facts/P/O',
      'TIME └─ normalizer → normalized-facts/P/O',
      'TIME    └─ filter → accepted-facts/P/O  for iris/desk',
      'TIME       └─ mirror-projector: ✔ accepted  for iris/desk  event event-1  decisions/P/O',
      'TIME          └─ mirror-projector → actor-events/P/O',
    ].join('\n'),
  );
});

test('routes part where the bindings do, and each tells its end', async () => {
  await world.run('bindings', 'put', 'iris', 'bugs', '--connection', 'octo', '--filter', "signal.entry.text == 'no'");
  await world.run('bindings', 'put', 'iris', 'odd', '--connection', 'octo', '--filter', 'signal.nothing.at.all');
  await world.run('bindings', 'put', 'zoe', 'off', '--connection', 'octo', '--disabled');
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-1'));
  const text = await told('actor-events/', 'raw-1');
  expect(text).toMatch(/├─ filter: ○ filtered {2}for iris\/bugs/);
  expect(text).toMatch(/├─ filter: ✗ dead_letter {2}for iris\/odd {2}invalid_binding_filter/);
  expect(text).toMatch(/│ {2}└─ filter → dead-letters\/P\/O {2}invalid_binding_filter {2}reason: /);
  expect(text).toMatch(/[├└]─ filter: ○ binding_disabled {2}for zoe\/off/);
  expect(text).toMatch(/✔ accepted {2}for iris\/desk/);
});

test('every id leads to the same fact, and a redelivery is told as one of its own', async () => {
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-1'));
  await told('actor-events/', 'raw-1');
  await world.publish(rawProviderFacts, comment('raw-2'));
  expect(await told('duplicate', 'raw-2')).toContain('mirror-projector: ○ duplicate  for iris/desk');

  const roots = async (...ids: readonly string[]) => {
    const { journeys } = Object(await world.json('why', ...ids));
    return Object(journeys).map((journey: { readonly rootId: string }) => journey.rootId);
  };
  await told('raw-2', 'event-1');
  expect(await roots('event-1')).toEqual(['raw-1', 'raw-2']);
  expect(await roots(channel, entry)).toEqual(['raw-1', 'raw-2']);
  expect(await roots('event-1', '--limit', '1')).toEqual(['raw-2']);
});

test('a position in the log leads to its fact', async () => {
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-1'));
  await told('actor-events/', 'raw-1');
  const { journeys } = Object(await world.json('why', 'raw-1'));
  const accepted = Object(journeys)[0].hops[0].next[0].next[0];
  const place = `${accepted.topic}/${accepted.partition}/${accepted.offset}`;
  expect(place).toMatch(/^accepted-facts\/\d\/0$/);
  expect(await world.json('why', place)).toEqual({ journeys, omitted: 0 });
});

test('an unknown event is told with its reason', async () => {
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-1', { event: 'star', body: '{"action":"created"}' }));
  expect(await told('decisions/', 'raw-1')).toMatch(
    /└─ normalizer: ○ ignored_unknown_event {2}star\.created {2}decisions\/P\/O$/,
  );
});

test('what the edge answered by itself is told, though nothing was published', async () => {
  await world.start('decision-journal');
  const about = { connectionId: 'octo', providerEventId: 'ping-1' };
  const handshake = { rootId: 'raw-1', stage: 'ingress', status: 'answered_handshake', at: Date.now(), about };
  await world.publish(decisions, Decision.parse(handshake));
  expect(await told('decisions/', 'ping-1')).toBe(
    [
      'raw-1',
      'connection octo · event ping-1',
      'WHEN',
      'answered_handshake',
      '',
      'TIME ingress: ✔ answered_handshake  decisions/P/O',
    ].join('\n'),
  );
});

test('bytes that are no record are found by their position, with the code of the dead letter', async () => {
  await world.start(...pipeline);
  await world.receiveBytes(1, Buffer.from('{}'));
  const text = await told('dead-letters/', 'raw-provider-facts/1/0');
  expect(text).toContain('└─ normalizer: ✗ dead_letter  frame-invalid');
  expect(text).toMatch(/└─ normalizer → dead-letters\/P\/O {2}frame-invalid {2}bytes: 2/);
});

test('a fact that no stage has read is found in the log, and it is said for whom it waits', async () => {
  await world.publish(rawProviderFacts, comment('raw-1'));
  for (const id of ['raw-1', 'event-1']) {
    expect(await told('waiting', id)).toBe(
      [
        'raw-1',
        `connection octo · ${channel} · event event-1`,
        'WHEN',
        'waiting for normalizer',
        '',
        'TIME raw-provider-facts/P/O',
        '     └─ … waiting for normalizer: group lag 1',
      ].join('\n'),
    );
  }
});

test('a fact that waits further down is told up to there, by any of its ids', async () => {
  await world.start('normalizer', 'filter');
  await world.publish(rawProviderFacts, comment('raw-1'));
  const text = await told('waiting for mirror-projector: group lag 1', 'raw-1');
  expect(text).toMatch(
    /TIME {4}└─ filter → accepted-facts\/P\/O {2}for iris\/desk\n +└─ … waiting for mirror-projector/,
  );
  expect(await told('waiting for mirror-projector', channel, entry)).toBe(text);
});

test('what was decided is told although the journal is down', async () => {
  await world.start('normalizer', 'filter', 'mirror-projector');
  await world.publish(rawProviderFacts, comment('raw-1'));
  expect(await told('actor-events/', 'raw-1')).toContain('✔ accepted  for iris/desk');
});

test('an id that nobody knows is not found', async () => {
  const { code, out, notes } = await world.run('why', 'nothing');
  expect([code, out]).toEqual([1, '']);
  expect(notes).toContain('journey-not-found');
  expect((await world.run('why', 'no-topic/1/2')).notes).toContain('journey-not-found');
  expect((await world.run('why', 'a', 'b', 'c')).code).toBe(2);
});

test('what was redriven is told below the dead letter that it came from', async () => {
  await world.start(...pipeline);
  await world.publish(rawProviderFacts, comment('raw-9', { connectionId: 'hexa' }));
  await told('dead-letters/', 'raw-9');
  await world.run('connections', 'put', 'hexa', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK');
  await world.run('bindings', 'put', 'iris', 'hexa', '--connection', 'hexa');
  await world.run('dlq', 'redrive', '--yes');
  const lines = (await told('actor-events/', 'raw-9')).split('\n');
  expect(lines.slice(lines.indexOf('') + 1)).toEqual([
    'TIME raw-provider-facts/P/O',
    'TIME └─ normalizer: ✗ dead_letter  connection-unknown  decisions/P/O',
    'TIME    └─ normalizer → dead-letters/P/O  connection-unknown  connectionId: hexa  provider: github',
    'TIME       └─ redriven → raw-provider-facts/P/O',
    'TIME          └─ normalizer → normalized-facts/P/O',
    'TIME             └─ filter → accepted-facts/P/O  for iris/hexa',
    'TIME                └─ mirror-projector: ✔ accepted  for iris/hexa  event event-1  decisions/P/O',
    'TIME                   └─ mirror-projector → actor-events/P/O',
  ]);
});

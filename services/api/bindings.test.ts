import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { z } from 'zod';
import { Connection, connections } from '../../schemas/connection.ts';
import { connectionStates } from '../../schemas/connection-state.ts';
import { exampleFact, NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { defaultWindows } from '../mirror-projector/batch/window.ts';
import { type ApiUnderTest, apiUnderTest } from './api-under-test.ts';
import { operations } from './operations/index.ts';

const secret = 'correct horse battery staple';
const desk = '/agents/iris/signal-bindings/desk';
const put = 'PUT /agents/Iris/signal-bindings/github/desk';
const connected = { connectionId: 'octo', config: { webhookSecret: secret } };
const row = (more: object = {}) => ({
  agentUid: 'iris',
  name: 'desk',
  adapter: 'github',
  connectionId: 'octo',
  filters: {},
  unaddressedGroupMessagePolicy: 'record_only',
  enabled: true,
  unavailableReason: null,
  updatedAt: expect.any(Number),
  ...more,
});

let api: ApiUnderTest;
beforeEach(async () => {
  api = await apiUnderTest();
});
afterEach(() => api.stop());

const stored = async (path = desk) => (await api.ask(`GET ${path}`)).body.signalBinding;

test('141: a PUT without a mode makes an enabled rule that records, and the secret is in no answer and no rule', async () => {
  const answered = await api.ask(put, { body: connected });
  expect(answered).toMatchObject({ status: 200, body: { signalBinding: row() } });
  const list = await api.ask('GET /signal-bindings');
  expect(list.body).toEqual({ signalBindings: [row()] });
  expect(JSON.stringify([answered, list, api.lines, api.world.bindings.all()])).not.toContain(secret);
});

test('142: an unknown adapter is signal_adapter_not_found, and nothing is written', async () => {
  const { status, body } = await api.ask('PUT /agents/iris/signal-bindings/fax/desk', { body: connected });
  expect({ status, body }).toMatchObject({
    status: 404,
    body: { code: 'signal_adapter_not_found', details: { adapterId: 'fax' } },
  });
  expect([api.world.bindings.all(), api.world.connections.all()]).toEqual([[], []]);
});

test('143: while the log is away a save is 503 within its bound; what is in memory is listed', async () => {
  const away = await apiUnderTest({
    settings: { workTimeoutMs: 30 },
    publishing: (publisher) => ({ ...publisher, publish: () => new Promise(() => undefined) }),
  });
  const { status, body, headers } = await away.ask(put, { body: connected });
  expect({ status, code: body.code, again: headers['retry-after'] }).toEqual({
    status: 503,
    code: 'infrastructure-unavailable',
    again: '1',
  });
  // Its turn never comes, since the one before it still holds the place: it is not begun either.
  expect(await away.ask(put, { body: connected })).toMatchObject({ status: 503 });
  expect(await away.ask('GET /signal-bindings')).toMatchObject({ status: 200, body: { signalBindings: [] } });
  await away.stop();
});

test('144: a PATCH with an empty config and another mode leaves the stored credentials alone', async () => {
  await api.ask(put, { body: connected });
  const before = api.world.connections.get('octo');
  const { body } = await api.ask(`PATCH ${desk}`, { body: { config: {}, groupMessageMode: 'may_intervene' } });
  expect(body).toEqual({ signalBinding: row({ unaddressedGroupMessagePolicy: 'may_intervene' }) });
  expect(api.world.connections.get('octo')).toBe(before);
});

test('windows that are put are stored and shown; those that are not have their defaults, also by a PUT without them', async () => {
  const windows = { addressedMs: 1_500, ambientMostMs: 0 };
  const { body } = await api.ask(put, { body: { ...connected, windows } });
  expect(body).toEqual({ signalBinding: row({ windows }) });
  expect((await api.ask(`GET ${desk}`)).body).toMatchObject({
    signalBinding: row({ windows }),
    defaultWindows: { ...defaultWindows },
  });
  expect((await api.ask(put, { body: connected })).body).toEqual({ signalBinding: row() });
  expect((await api.ask(put, { body: { ...connected, windows: {} } })).body).toEqual({ signalBinding: row() });
});

test('a PATCH lays windows over the stored ones: null gives the default back, to one or to all', async () => {
  await api.ask(put, { body: { ...connected, windows: { addressedMs: 1_500, neutralMs: 5 } } });
  const patch = async (windows: unknown) => (await api.ask(`PATCH ${desk}`, { body: { windows } })).body;
  expect(await patch({ neutralMs: null, ambientMs: 9 })).toEqual({
    signalBinding: row({ windows: { addressedMs: 1_500, ambientMs: 9 } }),
  });
  expect((await api.ask(`PATCH ${desk}`, { body: { enabled: true } })).body).toEqual({
    signalBinding: row({ windows: { addressedMs: 1_500, ambientMs: 9 } }),
  });
  expect(await patch({ addressedMs: null, ambientMs: null })).toEqual({ signalBinding: row() });
  await patch({ addressedMs: 1 });
  expect(await patch(null)).toEqual({ signalBinding: row() });
});

test.each([
  [
    'an unknown one',
    { addressed: 1_500 },
    /^windows: takes addressedMs, addressedAttachmentsMs, .*pendingAttachmentMs$/,
  ],
  ['one that is too long', { addressedMs: 3_600_001 }, /^windows.addressedMs: .*<=3600000$/],
  ['one before the message', { neutralMs: -1 }, /^windows.neutralMs: .*>=0$/],
  ['half a millisecond', { neutralMs: 0.5 }, /^windows.neutralMs: .*int/],
  ['a text', { neutralMs: '1s' }, /^windows.neutralMs: .*number/],
])('of windows, %s is refused, and it is said what is allowed', async (_, windows, issue) => {
  await api.ask(put, { body: connected });
  const before = api.world.bindings.all();
  for (const http of [put, `PATCH ${desk}`]) {
    const body = http === put ? { ...connected, windows } : { windows };
    expect(await api.ask(http, { body })).toMatchObject({
      status: 422,
      body: { code: 'input-invalid', details: { issues: [expect.stringMatching(issue)] } },
    });
  }
  expect(api.world.bindings.all()).toEqual(before);
});

test('events of edits are turned off by a save, kept by a PATCH that is silent, and on by a PUT', async () => {
  const off = { signalBinding: row({ entryEditedEvents: false }) };
  expect((await api.ask(put, { body: { ...connected, entryEditedEvents: false } })).body).toEqual(off);
  expect((await api.ask(`PATCH ${desk}`, { body: { enabled: true } })).body).toEqual(off);
  expect((await api.ask(`PATCH ${desk}`, { body: { entryEditedEvents: true } })).body).toEqual({
    signalBinding: row(),
  });
  expect((await api.ask(`PATCH ${desk}`, { body: { entryEditedEvents: false } })).body).toEqual(off);
  expect((await api.ask(put, { body: connected })).body).toEqual({ signalBinding: row() });
});

test('145: a move disables the rule of A and enables that of B, with filter and connection', async () => {
  const own = { filters: { cel: "signal.kind == 'entry_received'" }, windows: { neutralMs: 5 } };
  await api.ask(put, { body: { ...connected, ...own } });
  const { body } = await api.ask(`PATCH ${desk}`, { body: { targetAgentUid: 'Zoe' } });
  expect(body).toEqual({ signalBinding: row({ agentUid: 'zoe', ...own }) });
  expect((await api.ask('GET /signal-bindings')).body).toEqual({
    signalBindings: [row({ enabled: false, ...own }), row({ agentUid: 'zoe', ...own })],
  });
});

test('145: where B has an enabled namesake nothing is changed; a disabled one is replaced', async () => {
  await api.ask(put, { body: connected });
  await api.bind({ agentUid: 'zoe', filters: { cel: 'true' }, updatedAt: 5 });
  const before = api.world.bindings.all();
  expect(await api.ask(`PATCH ${desk}`, { body: { targetAgentUid: 'zoe', enabled: false } })).toMatchObject({
    status: 409,
    body: { code: 'binding_target_conflict' },
  });
  expect(api.world.bindings.all()).toEqual(before);
  await api.ask('PATCH /agents/zoe/signal-bindings/desk', { body: { enabled: false } });
  expect((await api.ask(`PATCH ${desk}`, { body: { targetAgentUid: 'zoe' } })).body).toEqual({
    signalBinding: row({ agentUid: 'zoe' }),
  });
});

test('145: a move that ended half-way is finished by the same request', async () => {
  let dies = true;
  const dying = await apiUnderTest({
    settings: { workTimeoutMs: 200 },
    publishing: (publisher) => ({
      ...publisher,
      async publish(topic, value) {
        if (dies && JSON.stringify(value).includes('"zoe"')) throw new Error('killed here');
        return publisher.publish(topic, value);
      },
    }),
  });
  await dying.connect('octo', 'github', { webhookSecret: secret });
  await dying.bind({ filters: {} });
  expect(await dying.ask(`PATCH ${desk}`, { body: { targetAgentUid: 'zoe' } })).toMatchObject({ status: 500 });
  expect(dying.world.bindings.all()).toEqual([row({ enabled: false })]);
  dies = false;
  expect(await dying.ask(`PATCH ${desk}`, { body: { targetAgentUid: 'zoe' } })).toMatchObject({ status: 200 });
  expect(dying.world.bindings.all()).toEqual([row({ enabled: false }), row({ agentUid: 'zoe' })]);
  await dying.stop();
});

test('145: a move needs the right to delete at A, and a token for B', async () => {
  await api.ask(put, { body: connected });
  const before = api.world.bindings.all();
  const withoutDelete = await api.token({ scopes: ['bindings:write'] });
  const ofIris = await api.token({ agents: ['iris'] });
  const move = { body: { targetAgentUid: 'zoe' } };
  expect(await api.ask(`PATCH ${desk}`, { ...move, token: withoutDelete })).toMatchObject({
    status: 403,
    body: { code: 'scope-missing', details: { scope: 'bindings:delete' } },
  });
  expect(await api.ask(`PATCH ${desk}`, { ...move, token: ofIris })).toMatchObject({
    status: 403,
    body: { code: 'agent-forbidden', details: { agentUid: 'zoe' } },
  });
  expect(api.world.bindings.all()).toEqual(before);
});

test('146: settings are written through a binding alone, and only those that its adapter declares', async () => {
  const writing = operations.filter(({ input }) => 'config' in (input as z.ZodObject).shape).map(({ name }) => name);
  expect(writing).toEqual(['put-signal-binding', 'update-signal-binding']);
  expect(operations.filter(({ http }) => http.includes('connection'))).toEqual([]);

  await api.ask(put, { body: connected });
  await api.connect('talk', 'chat', { token: secret });
  const before = [api.world.connections.all(), api.world.bindings.all()];
  const foreign = ['unknown', 'id', 'provider', 'config', 'secrets', 'updatedAt', 'constructor', 'region'];
  const refused = { status: 422, body: { code: 'input-invalid' } };
  // All at once: none slips in between what another reads and writes.
  const answers = await Promise.all(
    foreign.flatMap((name) => {
      const config = { webhookSecret: 'another', [name]: { webhookSecret: 'another' } };
      return [api.ask(put, { body: { ...connected, config } }), api.ask(`PATCH ${desk}`, { body: { config } })];
    }),
  );
  expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(
    answers.map(() => ({ status: 422, body: expect.objectContaining({ code: 'input-invalid' }) })),
  );
  expect([api.world.connections.all(), api.world.bindings.all()]).toEqual(before);

  // A stored row that no longer fits lets nothing else in, and is mended by taking away what does not belong there.
  const stored = api.world.connections.get('octo');
  await api.publish(connections, Connection.parse({ ...stored, config: { retired: 1 }, updatedAt: 1 }));
  await vi.waitUntil(() => api.world.connections.get('octo')?.updatedAt === 1);
  for (const config of [{ retired: 2 }, { unknown: 1 }, { webhookSecret: 'another' }])
    expect(await api.ask(`PATCH ${desk}`, { body: { config } })).toMatchObject(refused);
  expect(api.world.connections.get('octo')).toMatchObject({ config: { retired: 1 }, updatedAt: 1 });
  expect(await api.ask(`PATCH ${desk}`, { body: { config: { retired: null } } })).toMatchObject({ status: 200 });
  expect(api.world.connections.get('octo')).toMatchObject({ config: {} });
});

test('147: a mode that does not exist is unknown_group_message_mode', async () => {
  const { status, body } = await api.ask(put, { body: { ...connected, groupMessageMode: 'made_up' } });
  expect({ status, code: body.code }).toEqual({ status: 422, code: 'unknown_group_message_mode' });
  expect(JSON.stringify(body)).not.toContain('made_up');
});

test('148: an adapter offers exactly the modes that it has, and takes no other', async () => {
  const { body } = await api.ask('GET /signal-adapters');
  const listed = body.signalAdapters as readonly Readonly<Record<string, unknown>>[];
  expect(listed.map(({ adapterId }) => adapterId)).toEqual(['chat', 'github', 'standard-webhooks', 'typed-facts']);
  expect(listed[0]).toEqual({
    adapterId: 'chat',
    displayName: 'Chat',
    kinds: ['events'],
    fields: [
      { name: 'region', secret: false, required: false, schema: { type: 'string' } },
      { name: 'token', secret: true, required: true, schema: { type: 'string' } },
    ],
    groupMessageModeField: { options: ['observe_all', 'may_intervene'], default: 'observe_all' },
  });
  const refused = await api.ask('PUT /agents/iris/signal-bindings/chat/room', {
    body: { connectionId: 'talk', config: { token: secret }, groupMessageMode: 'addressed_only' },
  });
  expect(refused).toMatchObject({ status: 422, body: { code: 'unsupported_group_message_mode' } });
});

test('149: a blank secret in a PATCH keeps the stored one, and a read lists its name without its value', async () => {
  await api.ask('PUT /agents/iris/signal-bindings/chat/room', {
    body: { connectionId: 'talk', config: { token: secret, region: 'eu' } },
  });
  const room = '/agents/iris/signal-bindings/room';
  await api.ask(`PATCH ${room}`, { body: { config: { token: '', region: 'us' } } });
  const read = await api.ask(`GET ${room}`);
  expect(read.body).toMatchObject({ config: { region: 'us' }, storedSecretPaths: ['token'] });
  await api.ask(`PATCH ${room}`, { body: { config: { region: null } } });
  expect((await api.ask(`GET ${room}`)).body).toMatchObject({ config: {}, storedSecretPaths: ['token'] });
  expect(JSON.stringify([read, api.lines])).not.toContain(secret);
});

test('a filter that is no CEL, blank or of another form is invalid_binding_filter before any write', async () => {
  const bad = [{ cel: 'signal.(' }, { cel: ' ' }, { cel: 7 }, { eq: {} }, 'true'];
  const invalid = { status: 422, body: { code: 'invalid_binding_filter' } };
  for (const filters of bad) expect(await api.ask(put, { body: { ...connected, filters } })).toMatchObject(invalid);
  expect([api.world.bindings.all(), api.world.connections.all()]).toEqual([[], []]);
  await api.ask(put, { body: connected });
  const before = api.world.bindings.all();
  for (const filters of bad) {
    expect(await api.ask(`PATCH ${desk}`, { body: { filters } })).toMatchObject(invalid);
    expect(await api.ask(`POST ${desk}/test`, { body: { filters } })).toMatchObject(invalid);
  }
  expect(api.world.bindings.all()).toEqual(before);
});

test('a reason that the system found is shown, and cleared by a save of the binding', async () => {
  await api.connect('octo', 'github', { webhookSecret: secret });
  await api.bind({ filters: {}, updatedAt: 1 });
  const state = { ...connectionStates.example, since: Date.now(), until: Date.now() + 60_000 };
  await api.publish(connectionStates, state);
  await vi.waitFor(() => expect(api.world.states.get('octo')).toBeDefined());
  const { unavailableReason } = state;
  expect((await api.ask('GET /signal-bindings')).body).toMatchObject({ signalBindings: [{ unavailableReason }] });
  expect((await api.ask(`GET ${desk}`)).body).toMatchObject({ signalBinding: { unavailableReason } });
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(state.since));
  await api.ask(`PATCH ${desk}`, { body: { enabled: true } });
  expect((await api.ask('GET /signal-bindings')).body).toMatchObject({ signalBindings: [{ unavailableReason: null }] });
});

test('a disabled rule stays listed; a reason for being unavailable is shown, and cleared by any save', async () => {
  await api.connect('octo', 'github', { webhookSecret: secret });
  await api.bind({ unavailableReason: 'credentials revoked', filters: {} });
  expect((await api.ask('GET /signal-bindings?agent=iris')).body).toEqual({
    signalBindings: [row({ unavailableReason: 'credentials revoked' })],
  });
  expect((await api.ask(`PATCH ${desk}`, { body: { enabled: false } })).body).toEqual({
    signalBinding: row({ enabled: false }),
  });
  expect((await api.ask('GET /signal-bindings?agent=iris')).body).toEqual({
    signalBindings: [row({ enabled: false })],
  });
  expect((await api.ask('GET /signal-bindings?agent=nobody')).body).toEqual({ signalBindings: [] });
});

test('a PUT with an empty config takes the open settings away and keeps the secrets; a PATCH with one says nothing', async () => {
  const room = 'PUT /agents/iris/signal-bindings/chat/room';
  const read = async () => (await api.ask('GET /agents/iris/signal-bindings/room')).body;
  await api.ask(room, { body: { connectionId: 'talk', config: { token: secret, region: 'eu' } } });
  await api.ask('PATCH /agents/iris/signal-bindings/room', { body: { config: {} } });
  expect(await read()).toMatchObject({ config: { region: 'eu' }, storedSecretPaths: ['token'] });
  await api.ask(room, { body: { connectionId: 'talk', config: {} } });
  expect(await read()).toMatchObject({ config: {}, storedSecretPaths: ['token'] });
  await api.bind({ agentUid: 'iris', name: 'lost', connectionId: 'gone' });
  const patch = 'PATCH /agents/iris/signal-bindings/lost';
  expect(await api.ask(patch, { body: { connectionId: 'nowhere', config: {} } })).toMatchObject({
    status: 404,
    body: { code: 'connection-not-found' },
  });
});

test('a rule is deleted once: it is answered as it was, disabled, and is gone', async () => {
  await api.ask(put, { body: connected });
  expect((await api.ask(`DELETE ${desk}`)).body).toEqual({ signalBinding: row({ enabled: false }) });
  expect((await api.ask('GET /signal-bindings')).body).toEqual({ signalBindings: [] });
  expect(await api.ask(`DELETE ${desk}`)).toMatchObject({ status: 404, body: { code: 'binding-not-found' } });
  expect(await api.ask(put, { body: { connectionId: 'octo' } })).toMatchObject({ status: 200 });
});

test('what was written can be read when the answer arrives, also by many at once', async () => {
  await api.ask(put, { body: connected });
  const changes = Array.from({ length: 20 }, (_, index) =>
    api.ask(`PATCH ${desk}`, { body: { filters: { cel: `signal.kind == 'k${index}'` } } }).then(async ({ body }) => {
      const answered = body.signalBinding as { readonly updatedAt: number };
      const read = (await stored()) as { readonly updatedAt: number };
      return read.updatedAt >= answered.updatedAt ? answered.updatedAt : undefined;
    }),
  );
  const versions = await Promise.all(changes);
  expect(versions).not.toContain(undefined);
  // One after another: no two changes read the same rule.
  expect(new Set(versions).size).toBe(20);
});

test('a token for some agents binds what they have or what it makes, and changes no settings of others', async () => {
  await api.connect('octo', 'github', { webhookSecret: secret });
  await api.bind({ agentUid: 'zoe' });
  const agents = ['iris'];
  const token = await api.token({ agents });
  const foreign = { status: 403, body: { code: 'connection-forbidden' } };
  expect(await api.ask(put, { token, body: { connectionId: 'octo' } })).toMatchObject(foreign);
  expect(await api.ask(put, { token, body: connected })).toMatchObject(foreign);
  const own = { connectionId: 'own', config: { webhookSecret: secret } };
  expect(await api.ask(put, { token, body: own })).toMatchObject({ status: 200 });
  expect(await api.ask(`PATCH ${desk}`, { token, body: { connectionId: 'octo' } })).toMatchObject(foreign);
  await api.bind({ agentUid: 'zoe', name: 'too', connectionId: 'own' });
  expect(await api.ask(`PATCH ${desk}`, { token, body: { config: { webhookSecret: 'x' } } })).toMatchObject(foreign);
  await api.bind({ agentUid: 'zoe', name: 'waits', connectionId: 'awaited' });
  expect(await api.ask(put, { token, body: { ...own, connectionId: 'awaited' } })).toMatchObject(foreign);
  const mayNotConnect = await api.token({ agents, scopes: ['bindings:write'] });
  const another = { connectionId: 'new', config: { webhookSecret: secret } };
  expect(await api.ask(put, { token: mayNotConnect, body: another })).toMatchObject({
    body: { code: 'scope-missing', details: { scope: 'connections:write' } },
  });
  expect((await api.ask('GET /signal-bindings', { token })).body).toEqual({
    signalBindings: [row({ connectionId: 'own' })],
  });
});

test('a filter is tried on the newest facts: each says whether it passed, and by which part', async () => {
  await api.ask(put, { body: connected });
  for (const [index, text] of ['a bug', 'a question', undefined].entries()) {
    const { text: _, ...silent } = exampleFact;
    const ids = { sourceEventId: `e${index}`, signalChannelId: `github:octo/repo#${index}` };
    await api.publish(
      normalizedFacts,
      NormalizedFact.parse({ ...silent, ...ids, ...(text !== undefined && { text }) }),
    );
  }
  await api.publish(normalizedFacts, NormalizedFact.parse({ ...exampleFact, connectionId: 'other' }));
  const cel = "signal.kind == 'entry_received' && signal.entry.text.contains('bug')";
  const { body } = await api.ask(`POST ${desk}/test`, { body: { filters: { cel } } });
  const facts = body.facts as readonly Readonly<Record<string, unknown>>[];
  expect(facts.map(({ sourceEventId, outcome, reason }) => [sourceEventId, outcome, reason]).sort()).toEqual([
    ['e0', 'passes', 'the filter is true'],
    ['e1', 'filtered', "signal.entry.text.contains('bug') is false"],
    ['e2', 'failed', expect.stringContaining('signal.entry.text.contains')],
  ]);
  expect(facts.find(({ sourceEventId }) => sourceEventId === 'e1')?.parts).toEqual([
    { text: "signal.kind == 'entry_received'", outcome: 'true' },
    { text: "signal.entry.text.contains('bug')", outcome: 'false' },
  ]);
  expect(body).toMatchObject({ filters: { cel }, looked: 4 });
  const few = await api.ask(`POST ${desk}/test`, { body: { last: 2 } });
  expect(few.body).toMatchObject({ filters: {}, facts: [{ reason: 'there is no filter' }, { outcome: 'passes' }] });
  expect(JSON.stringify(body)).not.toContain('a question');
});

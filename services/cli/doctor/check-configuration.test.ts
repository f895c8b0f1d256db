import { expect, test } from 'vitest';
import { Binding } from '../../../schemas/binding.ts';
import { Connection } from '../../../schemas/connection.ts';
import { type ConnectionState, connectionStates } from '../../../schemas/connection-state.ts';
import { sealConnection } from '../../../shared/connection.ts';
import { provider as github } from '../../../shared/providers/github/index.ts';
import { providers } from '../../../shared/providers/index.ts';
import { KeyRing } from '../../../shared/sealing.ts';
import { checkBindings, checkConnections, checkKeys } from './check-configuration.ts';

const keyText = (name: string, byte: number) => `${name}:${Buffer.alloc(32, byte).toString('base64')}`;
const keys = KeyRing.parse(keyText('k1', 1));
const connectionOf = (id: string, ring = keys): Connection =>
  sealConnection({ id, config: { webhookSecret: 'secret itself' } }, { provider: github, keys: ring, now: 0 });
const bindingOf = (more: Readonly<Record<string, unknown>> = {}): Binding =>
  Binding.parse({
    agentUid: 'iris',
    name: 'desk',
    adapter: 'github',
    connectionId: 'octo',
    filters: {},
    unaddressedGroupMessagePolicy: 'record_only',
    enabled: true,
    unavailableReason: null,
    updatedAt: 0,
    ...more,
  });
const states = { rows: [], problems: [] };
const [octo, problem] = [connectionOf('octo'), { topic: 'bindings', partition: 3, offset: 7n, code: 'frame-invalid' }];

test('keys that are not here leave secrets unknown, and are no failure of the installation', () => {
  expect(checkKeys(keys)).toMatchObject({ status: 'ok', summary: 'k1 seals, 1 key to open' });
  expect(checkKeys(undefined)).toMatchObject({ status: 'warning', summary: 'none here' });
});

test('connections whose secrets open are well', () => {
  expect(checkConnections({ rows: [octo], problems: [] }, { providers, keys, states })).toMatchObject({
    status: 'ok',
    summary: '1, their secrets open',
  });
  expect(checkConnections({ rows: [octo], problems: [] }, { providers, keys: undefined, states })).toMatchObject({
    status: 'ok',
    summary: '1',
  });
  expect(checkConnections({ rows: [], problems: [] }, { providers, keys, states })).toMatchObject({
    summary: 'none yet',
  });
});

test('a connection tells what of it does not work, and nothing of its secrets', () => {
  const rows = [
    octo,
    connectionOf('sealed-elsewhere', KeyRing.parse(keyText('k9', 9))),
    connectionOf('other-key', KeyRing.parse(keyText('k1', 9))),
    Connection.parse({ ...octo, id: 'strange', provider: 'acme' }),
    Connection.parse({ ...octo, id: 'bare', secrets: {} }),
  ];
  const found = checkConnections({ rows, problems: [] }, { providers, keys, states });
  expect(found).toMatchObject({ status: 'failed', summary: '5, and not all work' });
  expect(found.details).toEqual([
    'sealed-elsewhere: key-missing, sealed by k9',
    'other-key: seal-broken, sealed by k1',
    'strange: the provider acme is not built in',
    'bare: a secret is missing, so every webhook is refused',
  ]);
  expect(JSON.stringify(found)).not.toContain('secret itself');
});

test('a connection that the system found unavailable says so until one of its deliveries is read or it is saved', () => {
  const sick = connectionStates.example;
  const told = (updatedAt: number, state: ConnectionState) =>
    checkConnections(
      { rows: [{ ...octo, updatedAt }], problems: [] },
      { providers, keys, states: { rows: [state], problems: [] } },
    );
  expect(told(sick.since, sick)).toMatchObject({
    status: 'warning',
    details: [`octo: unavailable since 2031-02-27 10:00:00.000Z: ${sick.unavailableReason}`],
  });
  expect(told(sick.since + 1, sick).status).toBe('ok');
  expect(told(sick.since, { ...sick, unavailableReason: null }).status).toBe('ok');
});

test('bindings on connections of their provider are well, disabled ones too', () => {
  const rows = [bindingOf(), bindingOf({ name: 'off', enabled: false }), bindingOf({ filters: { cel: 'true' } })];
  expect(checkBindings({ rows, problems: [] }, [octo])).toMatchObject({ status: 'ok', summary: '3, 1 disabled' });
});

test('a binding tells what of it does not work, and an unreadable row is told', () => {
  const rows = [
    bindingOf({ name: 'nothing', connectionId: 'gone' }),
    bindingOf({ name: 'other', adapter: 'standard-webhooks' }),
    bindingOf({ name: 'filter', filters: { cel: 'signal.' } }),
    bindingOf({ name: 'away', unavailableReason: 'agent gone' }),
  ];
  const { status, details } = checkBindings({ rows, problems: [problem] }, [octo]);
  expect([status, details]).toEqual([
    'failed',
    [
      'iris/nothing: its connection gone does not exist',
      'iris/other: it is for standard-webhooks, and octo is of github',
      expect.stringMatching(/^iris\/filter: its filter fails: ./),
      'iris/away: unavailable, agent gone',
      'bindings/3/7 is unreadable (frame-invalid); the value before it is in force',
    ],
  ]);
  expect(checkBindings({ rows: [bindingOf()], problems: [problem] }, [octo]).status).toBe('warning');
});

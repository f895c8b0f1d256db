import { expect, test, vi } from 'vitest';
import { topics } from '../../../schemas/index.ts';
import { BusError } from '../../../shared/errors.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { readDeploymentSettings } from '../../../shared/runtime/connection-settings.ts';
import { silentLog } from '../../../shared/runtime/log.ts';
import { createEmbeddedInfrastructure } from '../../../shared/runtime/memory/embedded.ts';
import type { Ports } from '../context.ts';
import { migrate } from '../migrate.ts';
import type { World } from './open-world.ts';
import { serve } from './serve.ts';

const environment = {
  SIGNALBOX_PROBE_PORT: '0',
  SIGNALBOX_PARTITIONS: '2',
  INGRESS_PORT: '0',
  API_PORT: '0',
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  RUNTIME_RETRY_MS: '10',
};

const hindered = vi.fn();
const silent = (): Promise<never> => {
  hindered();
  return new Promise(() => undefined);
};
const away = async (): Promise<never> => {
  hindered();
  throw new BusError('infrastructure-unavailable', {});
};

/** The ports to a world in memory whose topics and schemas are there. */
async function portsOf(hinder: (world: World) => Partial<Ports>): Promise<Ports> {
  const infrastructure = createEmbeddedInfrastructure();
  const world = { bus: infrastructure.bus(), store: infrastructure.store(), registry: infrastructure.registry() };
  await migrate(topics, readDeploymentSettings(environment), world);
  return {
    bus: async () => world.bus,
    store: async () => world.store,
    registry: async () => world.registry,
    ...hinder(world),
  };
}

const hindrances: readonly [string, (world: World) => Partial<Ports>][] = [
  ['the log is away', () => ({ bus: away })],
  ['the log does not answer', () => ({ bus: silent })],
  ['the store is away', () => ({ store: away })],
  ['the store does not answer', ({ store }) => ({ store: async () => ({ ...store, check: silent }) })],
  ['the registry is away', ({ registry }) => ({ registry: async () => ({ ...registry, idOf: away }) })],
  ['the registry does not answer', ({ registry }) => ({ registry: async () => ({ ...registry, idOf: silent }) })],
  ['topics are not told', ({ bus }) => ({ bus: async () => ({ ...bus, offsets: away }) })],
  ['topics are asked for in vain', ({ bus }) => ({ bus: async () => ({ ...bus, offsets: silent }) })],
  ['no table is told', ({ bus }) => ({ bus: async () => ({ ...bus, tail: away }) })],
  [
    'a table is never read to its end',
    ({ bus }) => ({
      bus: async () => ({ ...bus, tail: async () => ({ ready: silent(), close: async () => undefined }) }),
    }),
  ],
  ['the group is away', ({ bus }) => ({ bus: async () => ({ ...bus, join: away }) })],
];

test.each(hindrances.flatMap(([what, hinder]) => ['ingress', 'api'].map((edge) => [what, edge, hinder] as const)))(
  'a stop is heard while %s and %s starts',
  async (_, edge, hinder) => {
    hindered.mockClear();
    const stop = new AbortController();
    const onStarted = vi.fn(async () => undefined);
    const ports = await portsOf(hinder);
    const ended = serve({
      names: [edge, 'filter'],
      environment,
      openPorts: () => ports,
      clock: systemClock,
      stop: stop.signal,
      log: silentLog,
      onStarted,
    });
    await vi.waitUntil(() => hindered.mock.calls.length > 0);
    stop.abort();
    expect(await ended).toEqual({ type: 'stopped' });
    expect(onStarted).not.toHaveBeenCalled();
  },
);

test('the API is one of the services: it answers, is counted and stops', async () => {
  const stop = new AbortController();
  const ports = await portsOf(() => ({}));
  const ended = serve({
    names: ['api'],
    environment,
    openPorts: () => ports,
    clock: systemClock,
    stop: stop.signal,
    log: silentLog,
    async onStarted({ apiUrl, probeUrl }) {
      const refused = await fetch(`${apiUrl}/signal-bindings`);
      expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'token-missing' }]);
      expect((await fetch(`${probeUrl}/readyz`)).status).toBe(200);
      const metrics = await (await fetch(`${probeUrl}/metrics`)).text();
      expect(metrics).toContain('signalbox_api_requests_total{operation="none",outcome="token-missing"} 1');
      expect(metrics).toContain('signalbox_table_rows{stage="api",table="tokens"} 0');
      stop.abort();
    },
  });
  expect(await ended).toEqual({ type: 'stopped' });
});

test('the API does not start without a key to seal secrets with', async () => {
  const ports = await portsOf(() => ({}));
  const { SIGNALBOX_SECRET_KEYS: _, ...bare } = environment;
  const started = serve({
    names: ['api'],
    environment: bare,
    openPorts: () => ports,
    clock: systemClock,
    stop: new AbortController().signal,
    log: silentLog,
    onStarted: async () => undefined,
  });
  await expect(started).rejects.toMatchObject({ code: 'setting-invalid' });
});

test('what runs already is stopped well when a stop comes before all are started', async () => {
  const stop = new AbortController();
  const ports = await portsOf(({ bus }) => ({
    bus: async () => ({
      ...bus,
      join: (group, ...rest) => (group.endsWith('.filter') ? away() : bus.join(group, ...rest)),
    }),
  }));
  const bus = await ports.bus();
  const left = vi.fn();
  const joining = vi.fn<typeof bus.join>(async (...place) => {
    const membership = await bus.join(...place);
    const leave = async (): Promise<void> => {
      left(place[0]);
      await membership.leave();
    };
    return { ...membership, leave };
  });
  hindered.mockClear();
  const ended = serve({
    names: ['normalizer', 'filter'],
    environment,
    openPorts: () => ({ ...ports, bus: async () => ({ ...bus, join: joining }) }),
    clock: systemClock,
    stop: stop.signal,
    log: silentLog,
    onStarted: async () => undefined,
  });
  await vi.waitUntil(() => hindered.mock.calls.length > 0);
  stop.abort();
  expect(await ended).toEqual({ type: 'stopped' });
  expect(left.mock.calls).toEqual([['signalbox.normalizer']]);
});

test('a process whose circuit breaker opened shows it until somebody stops it', async () => {
  const stop = new AbortController();
  const ports = await portsOf(() => ({}));
  const bus = await ports.bus();
  const unknown = Buffer.from([0, 0, 0, 255, 255, ...Buffer.from('{}')]);
  const record = { topic: 'raw-provider-facts', partition: 0, key: Buffer.from('a'), value: unknown };
  await bus.produce([record, record]);
  const shown = Promise.withResolvers<string>();
  const ended = serve({
    names: ['normalizer'],
    environment: { ...environment, RUNTIME_REJECTS_IN_A_ROW: '2' },
    openPorts: () => ports,
    clock: systemClock,
    stop: stop.signal,
    log: silentLog,
    onStarted: async ({ probeUrl }) => {
      await vi.waitFor(async () => {
        const text = await (await fetch(`${probeUrl}/metrics`)).text();
        expect(text).toContain('signalbox_breaker_open{stage="normalizer"} 1');
        shown.resolve(`${(await fetch(`${probeUrl}/readyz`)).status}`);
      });
    },
  });
  expect(await shown.promise).toBe('503');
  stop.abort();
  expect(await ended).toMatchObject({ type: 'failed', error: { code: 'too-many-rejects' } });
});

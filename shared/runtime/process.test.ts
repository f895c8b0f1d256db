import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { BusError } from '../errors.ts';
import { systemClock } from './clock.ts';
import { silentLog } from './log.ts';
import { createSimulation } from './memory/simulation.ts';
import { type RunningService, serveProbes, superviseServices } from './process.ts';

/** A service that does as the test says. */
const serviceOf = (name: string, more: Partial<RunningService> = {}): RunningService => ({
  name,
  ready: () => true,
  sick: () => undefined,
  ended: new Promise(() => undefined),
  stop: async () => undefined,
  ...more,
});

describe('probes', () => {
  const open: { close: () => Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });

  const probes = async (services: readonly RunningService[], metrics: () => Promise<string> = async () => '') => {
    const clock = { ...systemClock, now: () => 1_000_000 };
    const serving = await serveProbes({ host: '127.0.0.1', port: 0, clock, services: () => services, metrics });
    open.push(serving);
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${serving.port}${path}`);
      return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
    };
    return { ask, port: serving.port };
  };
  const json = (status: number, value: unknown) => ({
    status,
    type: 'application/json',
    text: `${JSON.stringify(value)}\n`,
  });

  test('/livez is well while no service is sick, and names those that are, with the reason', async () => {
    let reason: string | undefined;
    const sick = (now: number) => reason && `${reason} since ${now}`;
    const { ask } = await probes([serviceOf('filter'), serviceOf('normalizer', { sick })]);
    expect(await ask('/livez')).toEqual(json(200, { sick: {} }));
    reason = 'no heartbeat';
    expect(await ask('/livez')).toEqual(json(503, { sick: { normalizer: 'no heartbeat since 1000000' } }));
    reason = undefined;
    expect(await ask('/livez')).toEqual(json(200, { sick: {} }));
  });

  test('/readyz waits for every service and names those that are not ready', async () => {
    let ready = false;
    const { ask } = await probes([serviceOf('filter'), serviceOf('normalizer', { ready: () => ready })]);
    expect(await ask('/readyz')).toEqual(json(503, { waiting: ['normalizer'] }));
    ready = true;
    expect(await ask('/readyz')).toEqual(json(200, { waiting: [] }));
  });

  test('/metrics gives the text of the metrics, and says when there is none', async () => {
    let broken = false;
    const { ask } = await probes([], async () => {
      if (broken) throw new Error('swordfish');
      return 'asks_total 1\n';
    });
    expect(await ask('/metrics')).toEqual({ status: 200, type: 'text/plain; version=0.0.4', text: 'asks_total 1\n' });
    broken = true;
    expect(await ask('/metrics')).toEqual(json(500, { error: 'metrics unavailable' }));
  });

  test('nothing else is there', async () => {
    const { ask } = await probes([]);
    expect(await ask('/')).toEqual(json(404, { error: 'not found' }));
  });

  test('a port that somebody listens on is an error that names it and its setting', async () => {
    const { port } = await probes([]);
    const again = serveProbes({
      host: '127.0.0.1',
      port,
      clock: systemClock,
      services: () => [],
      metrics: async () => '',
    });
    await expect(again).rejects.toMatchObject({
      code: 'port-taken',
      details: { port, setting: 'SIGNALBOX_PROBE_PORT' },
    });
  });

  test('closed probes leave their port at once, whoever waits for an answer', async () => {
    const asked = Promise.withResolvers<void>();
    const { port, ask } = await probes([], () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const waiting = expect(ask('/metrics')).rejects.toThrow();
    await asked.promise;
    await open.pop()?.close();
    await waiting;
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  });
});

describe('a supervised process', () => {
  /** A process under virtual time; its services' stops and exits are written down. */
  const supervised = (services: (note: (text: string) => void) => readonly RunningService[]) => {
    const simulation = createSimulation({ seed: 1 });
    const steps: string[] = [];
    const stop = new AbortController();
    const note = (text: string) => void steps.push(text);
    const end = superviseServices({
      services: services(note),
      stop: stop.signal,
      stopMs: 5_000,
      clock: simulation.process('supervised').clock,
      log: { ...silentLog, error: (fields, phrase) => note(`${phrase} ${JSON.stringify(fields)}`) },
      exitNow: (code) => note(`exit ${code}`),
    });
    return { simulation, steps, stop, end };
  };
  const listeners = () => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
  const noting = (note: (text: string) => void, name: string) =>
    serviceOf(name, { stop: async () => note(`stop ${name}`) });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'stops its services on %s, and listens for no signal afterwards',
    async (signal) => {
      const before = listeners();
      const { end, steps } = supervised((note) => [noting(note, 'ingress'), noting(note, 'filter')]);
      process.emit(signal);
      expect([await end, steps, listeners()]).toEqual([{ type: 'stopped' }, ['stop ingress', 'stop filter'], before]);
    },
  );

  test('stops its services on request, one that came before it began too', async () => {
    const { end, steps, stop } = supervised((note) => [noting(note, 'filter')]);
    stop.abort();
    expect([await end, steps]).toEqual([{ type: 'stopped' }, ['stop filter']]);

    const early = superviseServices({
      services: [],
      stop: AbortSignal.abort(),
      stopMs: 5_000,
      clock: systemClock,
      log: silentLog,
      exitNow: () => undefined,
    });
    expect(await early).toEqual({ type: 'stopped' });
  });

  test('ends at once on a second signal', async () => {
    const gate = Promise.withResolvers<void>();
    const { end, steps } = supervised(() => [serviceOf('filter', { stop: () => gate.promise })]);
    process.emit('SIGTERM');
    expect(steps).toEqual([]);
    process.emit('SIGINT');
    expect(steps).toEqual(['exit 1']);
    gate.resolve();
    expect(await end).toEqual({ type: 'stopped' });
  });

  test('ends when its services take too long to stop', async () => {
    const { end, steps, simulation } = supervised((note) => [
      noting(note, 'ingress'),
      serviceOf('filter', { stop: () => new Promise(() => undefined) }),
    ]);
    process.emit('SIGTERM');
    const from = simulation.now();
    await simulation.run();
    expect([await end, simulation.now() - from]).toEqual([{ type: 'stopped' }, 5_000]);
    expect(steps).toEqual(['stop ingress', 'graceful stop took too long {"ms":5000}', 'exit 1']);
  });

  test('stops the others when a service cannot go on, and says which and why', async () => {
    const error = new BusError('offset-gap', { topic: 'asks' });
    const ended = Promise.reject(error);
    const { end, steps } = supervised((note) => [
      noting(note, 'ingress'),
      serviceOf('filter', { ended, stop: async () => note('stop filter') }),
    ]);
    expect(await end).toEqual({ type: 'failed', service: 'filter', error });
    expect(steps).toEqual([
      expect.stringMatching(/^service cannot go on .*"stage":"filter","code":"offset-gap"/),
      'stop ingress',
      'stop filter',
    ]);
  });

  test('takes a service that ends by itself for one that failed', async () => {
    const { end } = supervised((note) => [serviceOf('filter', { ended: Promise.resolve() }), noting(note, 'ingress')]);
    expect(await end).toEqual({ type: 'failed', service: 'filter', error: new Error('ended by itself') });
  });

  test('stops all the others although one cannot be stopped', async () => {
    const { end, steps, stop } = supervised((note) => [
      serviceOf('filter', { stop: () => Promise.reject(new Error('stuck')) }),
      noting(note, 'ingress'),
    ]);
    stop.abort();
    expect([await end, steps]).toEqual([{ type: 'stopped' }, ['stop ingress']]);
  });
});

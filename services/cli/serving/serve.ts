import { readConfig } from '../../../shared/config.ts';
import { BusError } from '../../../shared/errors.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type Environment, readDeploymentSettings } from '../../../shared/runtime/connection-settings.ts';
import { createLog, type Log } from '../../../shared/runtime/log.ts';
import { createMetrics } from '../../../shared/runtime/metrics-registry.ts';
import {
  type ProcessEnd,
  type RunningService,
  serveProbes,
  superviseServices,
} from '../../../shared/runtime/process.ts';
import { config as runtimeConfig } from '../../../shared/runtime/runtime-settings.ts';
import { openTracing } from '../../../shared/runtime/tracing/open-tracing.ts';
import { readTracingSettings } from '../../../shared/runtime/tracing-settings.ts';
import { stages } from '../../index.ts';
import type { Ports } from '../context.ts';
import { closeWorld, openWorld, type World } from './open-world.ts';
import { type StartedServices, startServices } from './start-services.ts';

const closeMs = 2_000;

/** It needs a person, who hears of it by what the process shows: started anew, it would show nothing of it. */
const isBreaker = (end: ProcessEnd): boolean =>
  end.type === 'failed' && end.error instanceof BusError && end.error.code === 'too-many-rejects';

/** What runs, for whoever waits for it. */
export interface Serving extends StartedServices {
  readonly world: World;
  readonly probeUrl: string;
}

/**
 * Runs services in this process until a signal comes, `stop` aborts or one of them cannot go on. Probes answer from the
 * beginning, also while Kafka, Redis or the registry is waited for, and a stop is heard then too. Everything opened here
 * is closed at the end.
 */
export async function serve(options: {
  readonly names: readonly string[];
  readonly environment: Environment;
  readonly openPorts: (environment: () => Environment, log: Log) => Ports;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly log?: Log;
  readonly onStarted: (serving: Serving) => Promise<void>;
}): Promise<ProcessEnd> {
  const { names, environment, clock, stop } = options;
  const deployment = readDeploymentSettings(environment);
  const [runtime] = readConfig([runtimeConfig] as const, environment);
  const traces = readTracingSettings(environment);
  const log = options.log ?? createLog(deployment.logLevel);
  const chosen = names.flatMap((name) => stages.get(name) ?? []);
  const metrics = createMetrics(chosen, clock.now);
  const tracing = await openTracing(traces, { clock, log, onSpans: metrics.spans });
  let services: readonly RunningService[] | undefined;
  const starting: RunningService = {
    name: 'start',
    ready: () => false,
    sick: () => undefined,
    ended: new Promise(() => undefined),
    stop: async () => undefined,
  };
  const probes = await serveProbes({
    host: deployment.probeHost,
    port: deployment.probePort,
    clock,
    services: () => services ?? [starting],
    metrics: metrics.text,
  });
  const startLimit = new AbortController();
  const giveUp = (): void => startLimit.abort();
  stop.addEventListener('abort', giveUp, { once: true });
  process.once('SIGINT', giveUp);
  process.once('SIGTERM', giveUp);
  try {
    const world = await openWorld({
      ports: options.openPorts(() => environment, log),
      clock,
      log,
      stop: startLimit.signal,
    });
    try {
      const started = await startServices({
        names,
        world,
        environment,
        keys: deployment.secretKeys,
        clock,
        log,
        metrics,
        tracing,
        stop: startLimit.signal,
      });
      services = started.services;
      const host = deployment.probeHost.includes(':') ? `[${deployment.probeHost}]` : deployment.probeHost;
      const announced = startLimit.signal.aborted
        ? Promise.resolve()
        : options.onStarted({ ...started, world, probeUrl: `http://${host}:${probes.port}` });
      const ended = await superviseServices({
        services: [
          ...services,
          { ...starting, name: 'start', ready: () => true, ended: announced.then(() => starting.ended) },
        ],
        stop: startLimit.signal,
        stopMs: runtime.stopMs,
        clock,
        log,
        exitNow: (code) => process.exit(code),
      });
      if (isBreaker(ended)) await clock.sleep(runtime.breakerShownMs, startLimit.signal);
      return ended;
    } finally {
      // What is left of an unanswered request is nobody's any more: the services have stopped.
      const closed = new AbortController();
      const closing = Promise.all([closeWorld(world), tracing?.close()]).then(() => closed.abort());
      await Promise.race([closing, clock.sleep(closeMs, closed.signal)]);
    }
  } catch (error) {
    if (startLimit.signal.aborted) return { type: 'stopped' };
    throw error;
  } finally {
    process.off('SIGINT', giveUp);
    process.off('SIGTERM', giveUp);
    await probes.close();
  }
}

import { connections } from '../../../schemas/connection.ts';
import { decisions } from '../../../schemas/decision.ts';
import { topics } from '../../../schemas/index.ts';
import { rawProviderFacts } from '../../../schemas/raw-provider-fact.ts';
import { readConfig } from '../../../shared/config.ts';
import { BusError } from '../../../shared/errors.ts';
import { providers } from '../../../shared/providers/index.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type Codec, createCodec } from '../../../shared/runtime/codec.ts';
import type { Environment } from '../../../shared/runtime/connection-settings.ts';
import { inReach } from '../../../shared/runtime/in-reach.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Metrics } from '../../../shared/runtime/metrics-registry.ts';
import { performCall } from '../../../shared/runtime/perform-call.ts';
import type { RunningService } from '../../../shared/runtime/process.ts';
import { createPublisher } from '../../../shared/runtime/publisher.ts';
import { runStage } from '../../../shared/runtime/run-stage.ts';
import { type RuntimeSettings, config as runtimeConfig } from '../../../shared/runtime/runtime-settings.ts';
import type { Tracing } from '../../../shared/runtime/tracing/tracing.ts';
import { unlessStopped } from '../../../shared/runtime/unless-stopped.ts';
import type { KeyRing } from '../../../shared/sealing.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import { stages } from '../../index.ts';
import { config as ingressConfig } from '../../ingress/config.ts';
import { buildIngress } from '../../ingress/ingress.ts';
import { inOrder } from '../pipeline-order.ts';
import { tellsWaiting, type World } from './open-world.ts';
import { listening, openConfiguration, type Started, senderFor } from './service.ts';
import { apiName, startApi } from './start-api.ts';

/** The name of the HTTP edge among the services. */
export const ingressName = 'ingress';

/** Every service of the product, in the order of the pipeline. */
export const serviceNames: readonly [string, ...string[]] = [
  ingressName,
  // Those that read what the shell writes, as the journal does, come last.
  ...new Set([...inOrder([...stages.values()]).map(({ name }) => name), ...stages.keys()]),
  apiName,
];

/** What services are started with. */
export interface ServiceOptions {
  readonly names: readonly string[];
  readonly world: World;
  readonly environment: Environment;
  readonly keys: KeyRing | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Absent while tracing is off. */
  readonly tracing: Tracing | undefined;
  /** Ends the start, whatever it waits for. */
  readonly stop: AbortSignal;
}

/** The services that run, and where the edge and the API listen when they are among them. */
export interface StartedServices {
  readonly services: readonly RunningService[];
  readonly ingressUrl: string | undefined;
  readonly apiUrl: string | undefined;
}

/** A member that has not been heard by the broker for this long is taken for dead. */
const heartbeatLimitMs = 60_000;
const stuckLimitMs = 60_000;

/**
 * Starts services in one process: each stage with a sender of its own, as it would have alone. Told to stop meanwhile, it
 * starts no more and answers those that run.
 */
export async function startServices(options: ServiceOptions): Promise<StartedServices> {
  const { names, world, environment, clock, log, stop } = options;
  const [runtime] = readConfig([runtimeConfig] as const, environment);
  const services: RunningService[] = [];
  const urls = new Map<string, string>();
  try {
    const codec = await unlessStopped(
      stop,
      inReach(() => createCodec({ registry: world.registry, writes: topics }), {
        clock,
        retryMs: runtime.retryMs,
        stop,
        onWait: tellsWaiting(log, 'schema-registry'),
      }),
    );
    for (const name of names) {
      const starting = startService(name, options, { codec, runtime });
      try {
        const { service, url } = await unlessStopped(stop, starting);
        services.push(service);
        if (url !== undefined) urls.set(name, url);
      } catch (error) {
        // Started after the stop it would hold its place for nobody.
        if (stop.aborted) starting.then(({ service }) => service.stop()).catch(() => undefined);
        throw error;
      }
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  return { services, ingressUrl: urls.get(ingressName), apiUrl: urls.get(apiName) };
}

async function startService(
  name: string,
  options: ServiceOptions,
  { codec, runtime }: { readonly codec: Codec; readonly runtime: RuntimeSettings },
): Promise<Started> {
  if (name === ingressName) return startIngress(options, codec, runtime);
  if (name === apiName) return startApi(options, codec, runtime);
  const stage = stages.get(name);
  if (stage === undefined) throw new RangeError('no service of this name');
  return { service: await startStage(options, { stage, codec, runtime }) };
}

async function startStage(
  options: ServiceOptions,
  { stage, codec, runtime }: { readonly stage: AnyStage; readonly codec: Codec; readonly runtime: RuntimeSettings },
): Promise<RunningService> {
  const { world, clock, log, metrics, environment, stop } = options;
  const [settings] = readConfig([stage.config] as const, environment);
  const sender = senderFor(stage.name, options, runtime);
  const running = await runStage({
    stage,
    settings,
    ...world,
    codec,
    sender,
    clock,
    runtime,
    perform: performCall,
    log,
    observer: metrics.observer,
    stop,
    tracing: options.tracing?.stage(stage),
  });
  metrics.watch({
    name: stage.name,
    health: running.health,
    tableRows: () => running.health().tableRows,
    unsent: sender.pending,
  });
  return {
    name: stage.name,
    ended: running.ended,
    ready: () => running.health().ready,
    sick(now) {
      const { heartbeatAt, stuckSince } = running.health();
      if (now - heartbeatAt > heartbeatLimitMs) return 'no heartbeat';
      if (stuckSince !== undefined && now - stuckSince > stuckLimitMs) return 'a partition does not move';
      return undefined;
    },
    async stop() {
      await running.stop();
      sender.stop();
    },
  };
}

async function startIngress(options: ServiceOptions, codec: Codec, runtime: RuntimeSettings): Promise<Started> {
  const { world, clock, log, metrics, environment, keys } = options;
  if (keys === undefined) {
    throw new BusError('setting-invalid', {
      problems: ['SIGNALBOX_SECRET_KEYS: is missing; the edge opens secrets with it'],
    });
  }
  const [settings] = readConfig([ingressConfig] as const, environment);
  const sender = senderFor(ingressName, options, runtime);
  const publisher = createPublisher({ bus: world.bus, codec, sender });
  const accounts = await openConfiguration(ingressName, connections, { ...options, codec, runtime });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const server = buildIngress({
    providers,
    connections: accounts.table,
    keys,
    publish: (fact, traceparent) => publisher.publish(rawProviderFacts, fact, { traceparent }),
    decide: async (decision) => {
      await publisher.publish(decisions, decision);
    },
    settings,
    now: clock.now,
    log,
    onOutcome: ({ provider, outcome }) => metrics.webhook(provider, outcome),
    tracing: options.tracing,
  });
  const url = await listening(() => server.listen({ host: settings.host, port: settings.port }), {
    port: settings.port,
    setting: 'INGRESS_PORT',
  });
  metrics.watch({
    name: ingressName,
    tableRows: () => new Map([[connections.name, accounts.size()]]),
    unsent: sender.pending,
  });
  let open = true;
  return {
    url,
    service: {
      name: ingressName,
      ended,
      ready: () => open,
      sick: () => undefined,
      async stop() {
        open = false;
        await server.close();
        await accounts.close();
        sender.stop();
        end();
      },
    },
  };
}

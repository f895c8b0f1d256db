import { once } from 'node:events';
import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BusError } from '../errors.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** Something that a process runs: a stage or the HTTP edge. */
export interface RunningService {
  readonly name: string;
  readonly ready: () => boolean;
  /** Why it should be restarted, when it should. */
  readonly sick: (now: number) => string | undefined;
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

/** How a process ended: by a signal or a request, or because a service could not go on. */
export type ProcessEnd =
  | { readonly type: 'stopped' }
  | { readonly type: 'failed'; readonly service: string; readonly error: unknown };

const maxLoopDelayMs = 1_000;

/** Answers `/livez`, `/readyz` and `/metrics`. Port 0 takes a free one. Throws `port-taken`. */
export async function serveProbes(options: {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly services: () => readonly RunningService[];
  readonly metrics: () => Promise<string>;
}): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const live = (): Record<string, string> => {
    const now = options.clock.now();
    const loopMs = delay.percentile(99) / 1e6;
    delay.reset();
    const sick = options.services().flatMap((service) => {
      const reason = service.sick(now);
      return reason === undefined ? [] : [[service.name, reason]];
    });
    return {
      ...Object.fromEntries(sick),
      ...(loopMs > maxLoopDelayMs && { process: `event loop delayed ${Math.round(loopMs)} ms` }),
    };
  };
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(`${JSON.stringify(body)}\n`);
    };
    switch (request.url) {
      case '/livez': {
        const sick = live();
        return answer(Object.keys(sick).length === 0 ? 200 : 503, { sick });
      }
      case '/readyz': {
        const waiting = options.services().filter((service) => !service.ready());
        return answer(waiting.length === 0 ? 200 : 503, { waiting: waiting.map(({ name }) => name) });
      }
      case '/metrics':
        return void options.metrics().then(
          (text) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
          () => answer(500, { error: 'metrics unavailable' }),
        );
      default:
        return answer(404, { error: 'not found' });
    }
  });
  server.requestTimeout = 5_000;
  server.listen(options.port, options.host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    throw new BusError('port-taken', { port: options.port, setting: 'SIGNALBOX_PROBE_PORT' }, cause);
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    async close() {
      delay.disable();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/**
 * Waits until a signal comes, `stop` aborts or a service ends by itself; then stops all services, within the
 * deadline. A second signal ends the process at once, which every stage survives.
 */
export async function superviseServices(options: {
  readonly services: readonly RunningService[];
  readonly stop: AbortSignal;
  readonly stopMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly exitNow: (code: number) => void;
}): Promise<ProcessEnd> {
  const { services, log } = options;
  const { promise: signalled, resolve } = Promise.withResolvers<ProcessEnd>();
  // A stop during the start was the first one.
  let signals = options.stop.aborted ? 1 : 0;
  const onSignal = (): void => {
    signals++;
    if (signals > 1) options.exitNow(1);
    resolve({ type: 'stopped' });
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const onStop = (): void => resolve({ type: 'stopped' });
  if (options.stop.aborted) onStop();
  options.stop.addEventListener('abort', onStop, { once: true });
  const ends = services.map(async (service): Promise<ProcessEnd> => {
    try {
      await service.ended;
      return { type: 'failed', service: service.name, error: new Error('ended by itself') };
    } catch (error) {
      return { type: 'failed', service: service.name, error };
    }
  });

  const end = await Promise.race([signalled, ...ends]);
  if (end.type === 'failed') {
    const code = end.error instanceof BusError ? end.error.code : 'stage-fault';
    log.error({ stage: end.service, code, err: end.error }, 'service cannot go on');
  }
  const deadline = new AbortController();
  const late = options.clock.sleep(options.stopMs, deadline.signal).then(() => 'late' as const);
  const stopped = Promise.allSettled(services.map((service) => service.stop()));
  if ((await Promise.race([late, stopped])) === 'late') {
    log.error({ ms: options.stopMs }, 'graceful stop took too long');
    options.exitNow(1);
  }
  deadline.abort();
  process.off('SIGINT', onSignal);
  process.off('SIGTERM', onSignal);
  return end;
}

import type { Topic } from '../../../schemas/define.ts';
import { topics } from '../../../schemas/index.ts';
import { BusError } from '../../../shared/errors.ts';
import type { Codec } from '../../../shared/runtime/codec.ts';
import { inReach } from '../../../shared/runtime/in-reach.ts';
import type { RunningService } from '../../../shared/runtime/process.ts';
import type { RuntimeSettings } from '../../../shared/runtime/runtime-settings.ts';
import { createSender, type Sender } from '../../../shared/runtime/sender.ts';
import { type OpenTable, openTable } from '../../../shared/runtime/tables.ts';
import type { ServiceOptions } from './start-services.ts';

/** A service that was started, and where it listens when it does. */
export interface Started {
  readonly service: RunningService;
  readonly url?: string;
}

/** A batch takes less than its topic's `max.message.bytes`: this much is left to the records of one partition. */
const requestShare = 0.9;
const defaultMaxBytes = 1_048_576;

/** A sender of a service's own, within the bounds of each topic. */
export const senderFor = (service: string, { world, clock, log }: ServiceOptions, runtime: RuntimeSettings): Sender => {
  const limits = new Map(topics.map((topic) => [topic.name, (topic.maxBytes ?? defaultMaxBytes) * requestShare]));
  return createSender({
    bus: world.bus,
    clock,
    limits: {
      maxRequestBytes: (topic) => limits.get(topic) ?? defaultMaxBytes * requestShare,
      retryMs: runtime.retryMs,
      inFlight: 1,
    },
    producer: service,
    onRetry(error, times) {
      // The first time and then ever more seldom: an outage is told by more than this.
      if (Math.log2(times) % 1 !== 0) return;
      log.warn({ stage: service, code: error.code, ...error.details, times }, 'sending again');
    },
  });
};

/** A table of configuration, read whole. Waits while the log is away. */
export async function openConfiguration<V>(
  service: string,
  topic: Topic<V>,
  options: ServiceOptions & { readonly codec: Codec; readonly runtime: RuntimeSettings },
): Promise<OpenTable<V>> {
  const { world, codec, clock, log, runtime, stop } = options;
  const { retryMs } = runtime;
  const open = () =>
    openTable({
      topic,
      bus: world.bus,
      codec,
      clock,
      retryMs,
      onProblem: ({ offset, ...problem }) =>
        log.error(
          { stage: service, ...problem, offset: String(offset) },
          'configuration record unreadable, last good one kept',
        ),
    });
  const opened = await inReach(open, { clock, retryMs, stop });
  await opened.ready;
  return opened;
}

/** Listens; throws `port-taken`. */
export async function listening(
  listen: () => Promise<string>,
  at: { readonly port: number; readonly setting: string },
): Promise<string> {
  try {
    return await listen();
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE') {
      throw new BusError('port-taken', at, cause);
    }
    throw cause;
  }
}

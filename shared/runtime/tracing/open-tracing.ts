import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { TracingSettings } from '../tracing-settings.ts';
import { createTracing, type Tracing } from './tracing.ts';

/** What became of spans. */
export type SpanResult = 'exported' | 'dropped';

/** Starts tracing where it is configured; undefined where it is not, and then nothing of it is loaded. */
export async function openTracing(
  settings: TracingSettings | undefined,
  world: {
    readonly clock: Clock;
    readonly log: Log;
    readonly onSpans: (result: SpanResult, count: number) => void;
  },
): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined;
  const { openCollector } = await import('./collector.ts');
  world.log.info({}, 'tracing on');
  return createTracing({ sink: openCollector(settings, world), share: settings.share, clock: world.clock });
}

import { BusError } from '../errors.ts';
import type { PendingCall } from './apply-effects.ts';
import type { OutgoingRecord } from './bus.ts';
import { formatHeader } from './header.ts';
import type { StageOptions } from './run-stage.ts';

/** Makes provider calls, a bounded number at once, and puts their answers on the stage's own topic. */
export function createCalls({
  stage,
  codec,
  sender,
  runtime,
  perform,
  log,
  tracing,
}: Pick<StageOptions, 'stage' | 'codec' | 'sender' | 'runtime' | 'perform' | 'log' | 'tracing'>) {
  const waiting: { readonly partition: number; readonly pending: PendingCall }[] = [];
  const running = new Set<Promise<void>>();

  const run = async (partition: number, pending: PendingCall): Promise<void> => {
    const { id, rootId, causeId, call } = pending;
    const span = tracing?.call(pending);
    const answer = await perform(call.request);
    span?.end(answer);
    try {
      const value = call.answer(answer);
      const record: OutgoingRecord = {
        topic: stage.input.name,
        partition,
        key: Buffer.from(stage.input.key(value), 'utf8'),
        value: codec.encode(stage.input, value),
        header: formatHeader({ rootId, causeId, call: { id } }),
        ...(span !== undefined && { traceparent: span.traceparent }),
      };
      await sender.send([record]);
    } catch (error) {
      // Like an answer that was lost: the stage's own timer tells it.
      log.error({ stage: stage.name, id, code: error instanceof BusError ? error.code : 'stage-fault' }, 'answer lost');
    }
  };

  const next = (): void => {
    while (running.size < runtime.callsInFlight) {
      const job = waiting.shift();
      if (job === undefined) return;
      const work = run(job.partition, job.pending).finally(() => {
        running.delete(work);
        next();
      });
      running.add(work);
    }
  };

  return {
    /** Resolves at once, or, where more calls wait than run, when there are fewer: so the partition waits, not the memory. */
    async start(partition: number, pending: readonly PendingCall[], moved: () => void): Promise<void> {
      waiting.push(...pending.map((each) => ({ partition, pending: each })));
      next();
      while (waiting.length > runtime.callsInFlight) {
        await Promise.race(running);
        moved();
      }
    },
    /** Resolves when the calls that run have ended; those that wait are dropped, as by a crash. */
    async idle(): Promise<void> {
      waiting.length = 0;
      await Promise.allSettled([...running]);
    },
  };
}

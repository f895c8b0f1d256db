import { BusError } from '../errors.ts';
import type { Bus, OutgoingRecord } from './bus.ts';
import type { Clock } from './clock.ts';

/** Bounds of a sender. */
export interface SenderLimits {
  /** The largest request to one partition, in bytes of keys, values and headers: below the topic's `max.message.bytes`. */
  readonly maxRequestBytes: (topic: string) => number;
  readonly retryMs: number;
  /** Requests in flight at once. One, except in the test that shows why. */
  readonly inFlight: 1 | 2;
}

/** Sends records, one request in flight at a time; what comes in meanwhile is gathered for the next one. */
export interface Sender {
  /**
   * Resolves when all in-sync replicas have the records. Waits while the log is out of reach. Rejects after `stop`, and
   * where the log refuses the records: what others sent goes on.
   */
  readonly send: (records: readonly OutgoingRecord[]) => Promise<void>;
  /** Records that wait or are in flight. */
  readonly pending: () => number;
  /** Gives up what could not be sent; for a process that ends. */
  readonly stop: () => void;
}

/** The bytes a record takes in a batch, roughly and never less. */
export const recordBytes = (record: {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly header?: string | undefined;
  readonly traceparent?: string | undefined;
}): number =>
  (record.key?.length ?? 0) +
  (record.value?.length ?? 0) +
  // Text of a header is percent-encoded, so a character is a byte.
  (record.header?.length ?? 0) +
  (record.traceparent?.length ?? 0) +
  90;

interface Job {
  readonly records: readonly OutgoingRecord[];
  sent: number;
  acknowledged: number;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

/**
 * A retry that overtook a later send would look like a repeat and be dropped by the next stage's watermark, so a request
 * is repeated until it is acknowledged, and only then the next one leaves.
 */
export function createSender(options: {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly limits: SenderLimits;
  /** The bus's producer that it sends with. */
  readonly producer?: string;
  /** A request is sent once more, for the nth time: what it held may lie on the log twice now. */
  readonly onRetry?: (error: BusError, times: number) => void;
}): Sender {
  const { bus, clock, limits } = options;
  const jobs: Job[] = [];
  const stopped = new AbortController();
  let inFlight = 0;
  let waiting = 0;
  // Jobs at the head that leave one by one: the log refused them together, and only one of them may be at fault.
  let apart = 0;

  /** Takes records in order until one of the partitions is full; stops there, so that nothing overtakes. */
  const gather = (): { request: OutgoingRecord[]; parts: Map<Job, number> } => {
    const request: OutgoingRecord[] = [];
    const parts = new Map<Job, number>();
    const bytes = new Map<string, number>();
    for (const job of apart > 0 ? jobs.slice(0, 1) : jobs) {
      while (job.sent < job.records.length) {
        const record = job.records[job.sent];
        if (record === undefined) break;
        const partition = `${record.topic}/${record.partition}`;
        const total = (bytes.get(partition) ?? 0) + recordBytes(record);
        if (total > limits.maxRequestBytes(record.topic) && bytes.has(partition)) return { request, parts };
        bytes.set(partition, total);
        request.push(record);
        job.sent++;
        parts.set(job, (parts.get(job) ?? 0) + 1);
      }
    }
    return { request, parts };
  };

  const produce = async (request: readonly OutgoingRecord[]): Promise<void> => {
    for (let times = 1; ; times++) {
      if (stopped.signal.aborted) throw new BusError('infrastructure-unavailable', { reason: 'stopped while sending' });
      try {
        return await bus.produce(request, options.producer);
      } catch (cause) {
        if (!(cause instanceof BusError) || cause.code !== 'infrastructure-unavailable') throw cause;
        options.onRetry?.(cause, times);
        await clock.sleep(limits.retryMs, stopped.signal);
      }
    }
  };

  const remove = (job: Job): void => {
    jobs.splice(jobs.indexOf(job), 1);
    apart = Math.max(0, apart - 1);
  };

  const pump = (): void => {
    while (inFlight < limits.inFlight && jobs.some((job) => job.sent < job.records.length)) {
      const { request, parts } = gather();
      inFlight++;
      void produce(request)
        .then(
          () => {
            waiting -= request.length;
            for (const [job, count] of parts) {
              job.acknowledged += count;
              if (job.acknowledged < job.records.length) continue;
              remove(job);
              job.done();
            }
          },
          (error: Error) => {
            for (const [job, count] of parts) {
              if (parts.size > 1) {
                job.sent -= count;
                continue;
              }
              waiting -= job.records.length - job.acknowledged;
              remove(job);
              job.failed(error);
            }
            if (parts.size > 1) apart = parts.size;
          },
        )
        .finally(() => {
          inFlight--;
          pump();
        });
    }
  };

  return {
    send(records) {
      if (records.length === 0) return Promise.resolve();
      return new Promise((done, failed) => {
        jobs.push({ records, sent: 0, acknowledged: 0, done, failed });
        waiting += records.length;
        pump();
      });
    },
    pending: () => waiting,
    stop: () => stopped.abort(),
  };
}

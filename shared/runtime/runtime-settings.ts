import { z } from 'zod';
import { defineConfig } from '../config.ts';

const ms = (from: number, to: number) => z.coerce.number().int().min(from).max(to);
const count = (from: number, to: number) => z.coerce.number().int().min(from).max(to);

/** How the shell runs a stage: bounds of batches, caches and waits. */
export const config = defineConfig('RUNTIME', {
  batchRecords: count(1, 10_000).default(500).describe('Records of one partition handled together, at most.'),
  batchBytes: count(1_024, 16_777_216).default(524_288).describe('Bytes of one partition handled together, at most.'),
  cacheRows: count(0, 1_000_000).default(10_000).describe('Rows remembered for each partition between batches.'),
  commitMs: ms(50, 60_000).default(1_000).describe('Time between commits of offsets to the group.'),
  fenceCheckMs: ms(100, 600_000).default(5_000).describe('Time after which an idle partition compares its fence.'),
  tickMs: ms(5, 10_000).default(100).describe('How often timers, commits and idle partitions are looked at.'),
  lagMs: ms(100, 600_000).default(10_000).describe('How often the log is asked what is left, for metrics and probes.'),
  dueTimers: count(1, 10_000).default(200).describe('Due timers sent at once for each partition.'),
  timerRepeatMs: ms(1_000, 600_000)
    .default(30_000)
    .describe('Wait before a due timer is sent again whose record was not seen; twice as long after each time.'),
  retryMs: ms(10, 60_000).default(500).describe('Wait between tries while Kafka, Redis or the registry is away.'),
  callsInFlight: count(1, 1_000).default(50).describe('Provider calls running at once in one process.'),
  rejectsInARow: count(0, 1_000_000)
    .default(50)
    .describe(
      'Messages of a partition rejected in a row for a fault of ours, at which a stage stops before it sends them; 0 never stops.',
    ),
  breakerShownMs: ms(0, 600_000)
    .default(30_000)
    .describe('Time that a process which stopped for too many rejects still shows it to whoever asks for metrics.'),
  stopMs: ms(100, 600_000)
    .default(8_000)
    .describe('Time that a graceful stop may take before the process ends anyway.'),
});

/** The settings of the shell. */
export type RuntimeSettings = NonNullable<(typeof config)['schema']['_output']>;

import { z } from 'zod';
import { type ConfigDeclaration, defineConfig } from '../../shared/config.ts';

const count = (from: number, to: number) => z.coerce.number().int().min(from).max(to);

/** Where the API listens, and how much of anything it takes at once. */
export const config = defineConfig('API', {
  host: z.string().min(1).max(255).default('127.0.0.1').describe('Address to listen on.'),
  port: count(0, 65_535).default(8_090).describe('Port to listen on; 0 takes a free one.'),
  requestsPerMinute: count(1, 1_000_000).default(600).describe('Requests of one token in a minute; one more is a 429.'),
  burst: count(1, 100_000).default(60).describe('How many of them may come at once.'),
  maxBodyBytes: count(1_024, 16_777_216).default(65_536).describe('Largest body of a request; a larger one is a 413.'),
  maxHeaderBytes: count(1_024, 65_536).default(16_384).describe('Bytes of all headers together, at most.'),
  maxConnections: count(1, 100_000).default(500).describe('Open connections; one more is closed at once.'),
  maxWaiting: count(1, 10_000)
    .default(100)
    .describe('Requests that wait for their turn to change or to read; one more is a 503.'),
  readsAtOnce: count(1, 100).default(4).describe('Requests that read the log or the store at once; others wait.'),
  workTimeoutMs: count(10, 120_000).default(10_000).describe('Wait for Kafka or Redis before a request is a 503.'),
  lookRecords: count(100, 1_000_000)
    .default(6_000)
    .describe('Records of a topic that one request looks through, newest first and over all partitions, at most.'),
  requestTimeoutMs: count(100, 300_000).default(15_000).describe('Time in which a request must have come whole.'),
  keepAliveMs: count(0, 300_000).default(5_000).describe('Time that an idle connection is kept open.'),
  closeTimeoutMs: count(100, 300_000).default(10_000).describe('Time for running requests when the API stops.'),
});

type SettingsOf<D> = D extends ConfigDeclaration<infer S> ? S : never;

/** The settings of the API. */
export type ApiSettings = SettingsOf<typeof config>;

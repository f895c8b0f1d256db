import { z } from 'zod';
import { type ConfigDeclaration, defineConfig, flag } from '../../shared/config.ts';

const count = (from: number, to: number) => z.coerce.number().int().min(from).max(to);

/** Where the edge listens, and how much of anything it takes at once. */
export const config = defineConfig('INGRESS', {
  host: z.string().min(1).max(255).default('127.0.0.1').describe('Address to listen on.'),
  port: count(0, 65_535).default(8_080).describe('Port to listen on; 0 takes a free one.'),
  maxBodyBytes: count(1, 33_554_432).default(1_048_576).describe('Largest body of a webhook; a larger one is a 413.'),
  maxHeaderBytes: count(1_024, 65_536).default(16_384).describe('Bytes of all headers together, at most.'),
  maxHeaders: count(10, 1_000).default(100).describe('Headers of a request, at most.'),
  maxBodies: count(1, 10_000).default(100).describe('Bodies read or handled at once; one more is a 503.'),
  maxPending: count(1, 100_000).default(2_000).describe('Facts that wait for the broker at once; one more is a 503.'),
  maxPendingBytes: count(1, 1_073_741_824)
    .default(67_108_864)
    .describe('Bytes of bodies that wait for the broker at once; more is a 503.'),
  maxConnections: count(1, 100_000).default(1_000).describe('Open connections; one more is closed at once.'),
  publishTimeoutMs: count(10, 60_000).default(8_000).describe('Wait for the broker before a webhook is a 503.'),
  requestTimeoutMs: count(100, 300_000).default(15_000).describe('Time in which a request must have come whole.'),
  keepAliveMs: count(0, 300_000).default(5_000).describe('Time that an idle connection is kept open.'),
  closeTimeoutMs: count(100, 300_000).default(10_000).describe('Time for running requests when the edge stops.'),
  retryAfterSeconds: count(1, 3_600).default(10).describe('What a 503 says in Retry-After.'),
  trustProxy: flag().default(false).describe('Whether X-Forwarded headers are believed; only behind a proxy of yours.'),
});

type SettingsOf<D> = D extends ConfigDeclaration<infer S> ? S : never;

/** The settings of the edge. */
export type IngressSettings = SettingsOf<typeof config>;

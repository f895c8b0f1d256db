import { z } from 'zod';
import { defineConfig } from '../../shared/config.ts';

export const config = defineConfig('NORMALIZER', {
  maxFacts: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe('Most facts that one delivery of a provider may become; more rejects it.'),
  maxAdapterFailures: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(10)
    .describe(
      'Deliveries of a connection in a row, within a partition, that cannot be read before it is unavailable; 0 never says so.',
    ),
  probeAfterMs: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(86_400_000)
    .default(60_000)
    .describe('How long a connection is unavailable before facts of it pass again, to try.'),
});

/** What the normalizer's `decide` is told. */
export interface Settings {
  readonly maxFacts: number;
  readonly maxAdapterFailures: number;
  readonly probeAfterMs: number;
}

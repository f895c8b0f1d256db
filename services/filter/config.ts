import { z } from 'zod';
import { defineConfig } from '../../shared/config.ts';

export const config = defineConfig('FILTER', {
  maxWork: z.coerce
    .number()
    .int()
    .min(100_000)
    .max(100_000_000_000)
    .default(1_000_000_000)
    .describe(
      'Most steps that one filter may take over one fact, as estimated before it runs; more rejects the fact there.',
    ),
});

/** What the filter's `decide` is told. */
export interface Settings {
  readonly maxWork: number;
}

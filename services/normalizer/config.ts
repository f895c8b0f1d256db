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
});

import { z } from 'zod';
import { defineConfig } from '../../shared/config.ts';

const day = 86_400_000;

export const config = defineConfig('DECISION_JOURNAL', {
  retentionMs: z.coerce
    .number()
    .int()
    .min(60_000)
    .max(90 * day)
    .default(7 * day)
    .describe('How long a journey is kept after its last decision.'),
  maxDecisions: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(200)
    .describe('Most decisions kept of one fact, oldest first; the rest are counted.'),
  maxJourneys: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(20)
    .describe('Most facts that one provider event, entry or actor event leads to, newest last.'),
});

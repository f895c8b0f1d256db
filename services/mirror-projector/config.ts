import { z } from 'zod';
import { defineConfig } from '../../shared/config.ts';

const day = 86_400_000;
const retention = (byDefault: number) =>
  z.coerce
    .number()
    .int()
    .min(60_000)
    .max(90 * day)
    .default(byDefault);

export const config = defineConfig('MIRROR_PROJECTOR', {
  seenRetentionMs: retention(7 * day).describe('How long a source event is remembered, to know its redelivery.'),
  tombstoneRetentionMs: retention(day).describe('How long a removed entry is remembered, to drop its late arrival.'),
  inputRetentionMs: retention(7 * day).describe(
    'How long the events that an agent has of an entry are remembered, to tell it that the entry was removed or edited.',
  ),
  maxCausalDepth: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(8)
    .describe(
      'Most wakes of agents that may lead to each other; what goes on from there is recorded and wakes nobody.',
    ),
  maxPairWakes: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(20)
    .describe('Most wakes of an agent by one program or other agent in one channel within the window.'),
  pairWindowMs: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(day)
    .default(600_000)
    .describe('The window of those wakes; it begins with the first of them.'),
  maxBatchEntries: z.coerce
    .number()
    .int()
    .min(8)
    .max(1_000)
    .default(100)
    .describe('Most messages to nobody that wait together; one more closes them first.'),
  maxBatchBytes: z.coerce
    .number()
    .int()
    .min(16_384)
    .max(524_288)
    .default(262_144)
    .describe('Most bytes of messages that wait together, beside a first one that is larger alone.'),
});

/** What the mirror-projector's `decide` is told. */
export interface Settings {
  readonly seenRetentionMs: number;
  readonly tombstoneRetentionMs: number;
  readonly inputRetentionMs: number;
  readonly maxCausalDepth: number;
  readonly maxPairWakes: number;
  readonly pairWindowMs: number;
  readonly maxBatchEntries: number;
  readonly maxBatchBytes: number;
}

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
});

/** What the mirror-projector's `decide` is told. */
export interface Settings {
  readonly seenRetentionMs: number;
  readonly tombstoneRetentionMs: number;
  readonly inputRetentionMs: number;
}

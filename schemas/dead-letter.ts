import { z } from 'zod';
import { defineTopic } from './define.ts';

/** A record that a stage could not handle: its bytes untouched, where it stood, and a code of the error table. */
export const DeadLetter = z.object({
  rootId: z.string().min(1),
  stage: z.string().min(1),
  code: z.string().min(1),
  details: z.record(z.string(), z.json()),
  /** The part that failed where the rest went on: a binding of the filter. Redriving does this part alone. */
  part: z.string().optional(),
  topic: z.string().min(1),
  partition: z.int().nonnegative(),
  offset: z.string().regex(/^\d+$/),
  at: z.int().nonnegative(),
  /** The original record, base64; a null key or value is absent. */
  key: z.base64().optional(),
  value: z.base64().optional(),
  header: z.string().optional(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

/** Records that could not be handled. A record without a value marks the letter that its header names as redriven. */
export const deadLetters = defineTopic<DeadLetter>({
  name: 'dead-letters',
  summary: 'Records that a stage could not handle, with their bytes and a code; they can be redriven.',
  value: DeadLetter,
  key: (letter) => (letter.key === undefined ? letter.rootId : Buffer.from(letter.key, 'base64').toString('utf8')),
  keep: { days: 30 },
  maxBytes: 12_582_912,
  example: DeadLetter.parse({
    rootId: 'raw-provider-facts/3/17',
    stage: 'normalizer',
    code: 'frame-invalid',
    details: {},
    topic: 'raw-provider-facts',
    partition: 3,
    offset: '17',
    at: 1_929_952_800_000,
    key: 'b2N0bw==',
    value: 'e30=',
  }),
});

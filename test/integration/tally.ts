import { z } from 'zod';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import { defineProjection, defineTopic, type Topic } from '../../schemas/define.ts';
import { defineConfig } from '../../shared/config.ts';
import { defineStage, emit, put } from '../../shared/stage/index.ts';

const Stroke = z.object({ key: z.string() });
/** What is tallied. */
export const strokes = defineTopic({
  ...{ name: 'strokes', summary: 'What is tallied.', value: Stroke, keep: { days: 1 }, example: { key: 'a' } },
  key: ({ key }: z.infer<typeof Stroke>) => key,
});
/** How often a key was struck. */
export const Tally = z.object({ key: z.string(), count: z.int() });
/** Tallies, as they were told. */
export const told = defineTopic({
  ...{ name: 'tallies-told', summary: 'Tallies.', value: Tally, keep: { days: 1 }, example: { key: 'a', count: 1 } },
  key: ({ key }: z.infer<typeof Tally>) => key,
});
const tallies = defineProjection({
  ...{ name: 'tallies', stage: 'tally', summary: 'Tallies by key.', value: Tally },
  place: (key: string) => ({ key, owner: key }),
});
/** Tallies strokes: a small projection. */
export const tally = defineStage({
  name: 'tally',
  summary: 'Tallies strokes.',
  input: strokes,
  outputs: [told],
  config: defineConfig('TALLY', {}),
  reads: ({ key }) => ({ own: tallies.at(key) }),
  decide({ own }, { value: { key } }) {
    const next = { key, count: (own?.count ?? 0) + 1 };
    return [put(tallies.at(key), next), emit(told, next)];
  },
});
/** The topics of the stage. */
export const topics: readonly Topic[] = [strokes as Topic, told as Topic, decisions as Topic, deadLetters as Topic];

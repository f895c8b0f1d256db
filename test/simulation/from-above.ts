import type { Topic } from '../../schemas/define.ts';
import { jsonSchemaText, subjectOf } from '../../shared/json-schema.ts';
import { type Codec, createCodec } from '../../shared/runtime/codec.ts';
import type { Simulation } from '../../shared/runtime/memory/simulation.ts';

/** Registers topics without a step of any process. */
export function registerAll(simulation: Simulation, topics: readonly Topic[]): void {
  for (const topic of topics) simulation.register(subjectOf(topic), jsonSchemaText(topic));
}

/** A codec over the registered ids that no fault of a registry reaches. */
export const codecFromAbove = (simulation: Simulation, topics: readonly Topic[]): Promise<Codec> =>
  createCodec({
    writes: topics,
    registry: {
      idOf: async (subject, schema) => simulation.register(subject, schema),
      lookUp: async () => ({ type: 'unknown' }),
      check: async () => undefined,
      register: async (subject, schema) => simulation.register(subject, schema),
    },
  });

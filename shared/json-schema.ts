import { z } from 'zod';
import type { Topic } from '../schemas/define.ts';

/** The registry's subject of a topic's values. */
export const subjectOf = (topic: { readonly name: string }): string => `${topic.name}-value`;

/** The JSON Schema of a topic: draft-7, closed objects, as it is committed in `schemas/json` and registered. */
export function jsonSchemaOf(topic: Topic): Record<string, unknown> {
  const schema = z.toJSONSchema(topic.value, { target: 'draft-7', io: 'output', unrepresentable: 'throw' });
  return { ...schema, title: topic.name, description: topic.summary };
}

const texts = new WeakMap<Topic, string>();

/** The text that is registered: the same for the same schema, whoever asks. */
export function jsonSchemaText(topic: Topic): string {
  const text = texts.get(topic) ?? JSON.stringify(jsonSchemaOf(topic));
  texts.set(topic, text);
  return text;
}

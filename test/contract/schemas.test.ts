import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { projections, topics } from '../../schemas/index.ts';
import { jsonSchemaOf } from '../../shared/json-schema.ts';
import { root } from './sources.ts';

const kebabCase = /^[a-z]+(?:-[a-z]+)*$/;

/** The validator that the registry's client ships: the one that other clients of ours would check values with. */
interface Validator {
  compile(schema: unknown): (value: unknown) => boolean;
}
const fromRegistryClient = createRequire(createRequire(import.meta.url).resolve('@kafkajs/confluent-schema-registry'));
// `require` is untyped; the interface names the one method that is used.
const Ajv = fromRegistryClient('ajv').default as new (options: { readonly formats: object }) => Validator;
const anyText = () => true;
const compile = (schema: unknown) => new Ajv({ formats: { base64: anyText, 'date-time': anyText } }).compile(schema);

/** The places of a schema where an object has members but no end. */
function openObjects(schema: unknown, path = '#'): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const open = 'properties' in schema && Reflect.get(schema, 'additionalProperties') !== false ? [path] : [];
  return [...open, ...Object.entries(schema).flatMap(([name, member]) => openObjects(member, `${path}/${name}`))];
}

describe.each(topics)('$name', (topic) => {
  test('is a plural name in kebab-case, declared in the file of its singular', () => {
    expect(topic.name).toMatch(kebabCase);
    expect(topic.name).toMatch(/s$/);
    expect(existsSync(new URL(`schemas/${topic.name.slice(0, -1)}.ts`, root))).toBe(true);
  });

  test('has an example that its own contract reads back unchanged', () => {
    expect(topic.value.parse(JSON.parse(JSON.stringify(topic.example)))).toEqual(topic.example);
  });

  test('has a key and a summary', () => {
    expect(topic.key(topic.example)).not.toBe('');
    expect(topic.summary).toMatch(/^[A-Z].*\.$/);
  });

  test('has a JSON Schema that compiles, takes the example and nothing beside it', () => {
    const schema = jsonSchemaOf(topic);
    const accepts = compile(schema);
    const example = z.record(z.string(), z.unknown()).parse(topic.example);
    expect({
      dialect: schema.$schema,
      open: openObjects(schema),
      example: accepts(example),
      stranger: accepts({ ...example, strangerMember: true }),
      number: accepts(7),
    }).toEqual({
      dialect: 'http://json-schema.org/draft-07/schema#',
      open: [],
      example: true,
      stranger: false,
      number: false,
    });
  });
});

test('names are given once', () => {
  for (const list of [topics, projections]) {
    const names = list.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  }
});

test.each(projections)('the projection $name is plural or an index, in kebab-case', ({ name }) => {
  expect(name).toMatch(kebabCase);
  expect(name).toMatch(/(?:s|-index)$/);
});

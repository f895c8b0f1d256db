import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type ErrorCode, errors } from '../../shared/errors.ts';
import { type AnyOperation, hasBody, routeOf } from '../../shared/operation.ts';
import { Problem, problemType } from './problem.ts';
import type { ApiWorld } from './world.ts';

/** The codes that every operation can end with. */
export const commonCodes = [
  'token-missing',
  'token-invalid',
  'token-revoked',
  'token-expired',
  'scope-missing',
  'rate-limited',
  'input-invalid',
  'overloaded',
  'infrastructure-unavailable',
  'api-fault',
] as const satisfies readonly ErrorCode[];

/** Those of operations that take a body. */
export const bodyCodes = [
  'body-malformed',
  'body-too-large',
  'media-type-unsupported',
] as const satisfies readonly ErrorCode[];

/** All codes that an operation can end with. */
export const codesOf = (operation: AnyOperation<ApiWorld>): readonly ErrorCode[] => [
  ...commonCodes,
  ...(hasBody(routeOf(operation).method) ? bodyCodes : []),
  ...operation.fails,
];

type Json = Readonly<Record<string, unknown>>;

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The one recursive schema without a name of its own is that of any JSON. */
const componentName = (name: string): string => (name.startsWith('__schema') ? 'Json' : name);

/** A schema with its references moved to the components. */
function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string'
        ? member.replace(/^#\/\$defs\/(.+)$/, (_, target: string) => `#/components/schemas/${componentName(target)}`)
        : moved(member),
    ]),
  );
}

/** A schema of ours as JSON Schema; what it names is put among the components. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Map<string, unknown>): Json {
  const { $schema: _, $defs, ...made }: Json = z.toJSONSchema(schema, { io, target: 'draft-2020-12' });
  for (const [name, definition] of Object.entries(isJson($defs) ? $defs : {})) {
    const { id: _id, ...rest } = isJson(definition) ? definition : {};
    const component = moved(rest);
    const known = components.get(componentName(name));
    if (known !== undefined && !isDeepStrictEqual(known, component)) {
      throw new TypeError(`two schemas are named ${componentName(name)}`);
    }
    components.set(componentName(name), component);
  }
  // What was moved was an object, and stays one.
  return moved(made) as Json;
}

/** An operation's input: path parameters, query parameters, and what is left as the body. */
function requestOf(operation: AnyOperation<ApiWorld>, components: Map<string, unknown>): Json {
  const { method, inPath } = routeOf(operation);
  const { properties, required } = schemaOf(operation.input, 'input', components);
  const members = Object.entries(isJson(properties) ? properties : {});
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const example: Json = operation.example;
  const withBody = hasBody(method);
  const parameters = members
    .filter(([name]) => inPath.includes(name) || !withBody)
    .map(([name, schema]) => ({
      name,
      in: inPath.includes(name) ? 'path' : 'query',
      required: inPath.includes(name) || needed.includes(name),
      ...(isJson(schema) && typeof schema.description === 'string' && { description: schema.description }),
      schema,
      ...(example[name] !== undefined && { example: example[name] }),
    }));
  if (!withBody) return { parameters };
  const body = members.filter(([name]) => !inPath.includes(name));
  const names = body.map(([name]) => name);
  const least = names.filter((name) => needed.includes(name));
  return {
    parameters,
    requestBody: {
      required: least.length > 0,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: Object.fromEntries(body),
            ...(least.length > 0 && { required: least }),
            additionalProperties: false,
          },
          example: Object.fromEntries(Object.entries(example).filter(([name]) => names.includes(name))),
        },
      },
    },
  };
}

function problemsOf(operation: AnyOperation<ApiWorld>): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(operation)) {
    const { status } = errors[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const statuses = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    statuses.map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${errors[code].meaning}`).join(' '),
        content: { [problemType]: { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  );
}

/** The OpenAPI document of these operations. */
export function openApi(operations: readonly AnyOperation<ApiWorld>[], version: string): Json {
  const components = new Map<string, unknown>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const { method, path } = routeOf(operation);
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    const { name, summary, details, scope } = operation;
    paths[template] = {
      ...paths[template],
      [method.toLowerCase()]: {
        operationId: name,
        summary,
        ...(details !== undefined && { description: details }),
        security: [{ token: [scope] }],
        ...requestOf(operation, components),
        responses: {
          200: {
            description: 'Done.',
            content: { 'application/json': { schema: schemaOf(operation.output, 'output', components) } },
          },
          ...problemsOf(operation),
        },
      },
    };
  }
  components.set('Problem', schemaOf(Problem, 'output', components));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Signalbox',
      version,
      description: 'Who is woken by what, what the mirror shows, and what became of a fact.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://127.0.0.1:8090', description: 'Wherever API_HOST and API_PORT say.' }],
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of `signalbox tokens create`. The names beside it are the scopes that an operation needs.',
        },
      },
    },
  };
}

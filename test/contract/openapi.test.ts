import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import { channels, entries } from '../../schemas/mirror.ts';
import { exampleFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { Scope } from '../../schemas/token.ts';
import { type ApiUnderTest, apiUnderTest } from '../../services/api/api-under-test.ts';
import { operations } from '../../services/api/operations/index.ts';
import { errors } from '../../shared/errors.ts';
import { routeOf } from '../../shared/operation.ts';
import { root } from './sources.ts';

const Parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query']),
  required: z.boolean(),
  example: z.json().optional(),
  schema: z.record(z.string(), z.json()),
});
const Content = z.record(
  z.string(),
  z.object({ schema: z.record(z.string(), z.json()), example: z.json().optional() }),
);
const Documented = z.object({
  operationId: z.string(),
  summary: z.string(),
  security: z.tuple([z.object({ token: z.tuple([Scope]) })]),
  parameters: z.array(Parameter),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: Content })),
});
const Document = z.object({
  openapi: z.literal('3.1.1'),
  paths: z.record(z.string(), z.record(z.string(), Documented)),
  components: z.object({ schemas: z.record(z.string(), z.json()), securitySchemes: z.record(z.string(), z.json()) }),
});

const text = readFileSync(new URL('docs/openapi.json', root), 'utf8');
const document = Document.parse(JSON.parse(text));
const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** A check of values against a schema of the document, whose references lead to its components. */
function checkOf(schema: Readonly<Record<string, unknown>>): (value: unknown) => readonly string[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile({ ...schema, components: document.components });
  return (value) =>
    validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** The request that the document's own examples make. */
function exampleRequest({ method, path, operation }: (typeof documented)[number]) {
  const exampleOf = (name: string): string => {
    const parameter = operation.parameters.find((one) => one.name === name);
    return encodeURIComponent(String(parameter?.example));
  };
  const query = operation.parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const search = query.map(({ name }) => `${name}=${exampleOf(name)}`).join('&');
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleOf(name));
  const body = operation.requestBody?.content['application/json']?.example;
  return { http: `${method} ${url}${search === '' ? '' : `?${search}`}`, body };
}

test('the document has every operation at its method and path, and no other', () => {
  const declared = operations.map((operation) => {
    const { method, path } = routeOf(operation);
    return `${operation.name} ${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
  });
  expect(documented.map(({ method, path, operation }) => `${operation.operationId} ${method} ${path}`).sort()).toEqual(
    declared.sort(),
  );
});

test('the operations of the seed have exactly its paths', () => {
  const seed = [
    'GET /signal-adapters',
    'GET /signal-bindings',
    'PUT /agents/{agentUid}/signal-bindings/{adapterId}/{bindingName}',
    'PATCH /agents/{agentUid}/signal-bindings/{bindingName}',
    'DELETE /agents/{agentUid}/signal-bindings/{bindingName}',
  ];
  expect(seed.filter((http) => !documented.some(({ method, path }) => `${method} ${path}` === http))).toEqual([]);
});

test('every reference leads somewhere, and every part of a path is a described parameter', () => {
  const names = new Set(Object.keys(document.components.schemas));
  const references = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(([, target = '']) => target);
  expect(references.filter((target) => !names.has(target.replace('#/components/schemas/', '')))).toEqual([]);
  for (const { path, operation } of documented) {
    const inPath = operation.parameters.filter((one) => one.in === 'path').map(({ name }) => name);
    expect(inPath.sort()).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort());
    expect(operation.parameters.filter(({ schema }) => schema.description === undefined)).toEqual([]);
  }
});

describe('each operation, as the document tells it,', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await apiUnderTest();
    await api.connect('octo', 'github', { webhookSecret: 'correct horse battery staple' });
    await api.bind({ agentUid: 'iris', name: 'desk', connectionId: 'octo' });
    const { signalChannelId, sourceEntryId, author } = exampleFact;
    const times = { firstSeenAt: 1, lastSeenAt: 2 };
    const unsaid = { metadata: {}, providerTime: null, title: null, text: null, links: [], providerThreadId: null };
    await api.putRow(
      channels.at(signalChannelId),
      channels.value.parse({
        ...{ id: signalChannelId, kind: 'issue', replyMode: 'channel', name: null, visibility: null, metadata: {} },
        ...times,
      }),
    );
    await api.putRow(
      entries.at({ signalChannelId, sourceEntryId }),
      entries.value.parse({
        ...{ signalChannelId, sourceEntryId, author, replyToSourceEntryId: null, documentId: 'd', contentHash: 'h' },
        ...unsaid,
        ...times,
      }),
    );
    await api.publish(normalizedFacts, exampleFact);
    await api.publish(acceptedFacts, acceptedFacts.example);
    await api.publish(actorEvents, actorEvents.example);
  });
  afterAll(() => api.stop());

  // What takes something away comes last.
  const inOrder = documented.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));

  test.each(inOrder.map((one) => [one.operation.operationId, one] as const))(
    '%s answers its example',
    async (name, one) => {
      const { http, body } = exampleRequest(one);
      if (body !== undefined)
        expect(checkOf(one.operation.requestBody?.content['application/json']?.schema ?? {})(body)).toEqual([]);
      // The journal is filled by a stage that does not run here, so this one is asked by the entry.
      const asked =
        name === 'list-journeys'
          ? `GET /journeys?signalChannelId=${encodeURIComponent(exampleFact.signalChannelId)}&sourceEntryId=${exampleFact.sourceEntryId}`
          : http;
      const answered = await api.ask(asked, { body });
      expect(answered.status, JSON.stringify(answered.body)).toBe(200);
      const schema = one.operation.responses['200']?.content['application/json']?.schema;
      expect(checkOf(schema ?? {})(answered.body)).toEqual([]);
      // An empty list would be as the document says, whatever it says of what stands in it.
      expect(Object.values(answered.body)[0]).not.toEqual([]);
    },
  );

  test.each(inOrder.map((one) => [one.operation.operationId, one] as const))(
    '%s refuses as it says',
    async (_, one) => {
      const { http, body } = exampleRequest(one);
      const [needed] = one.operation.security[0].token;
      const refusals = [
        await api.ask(http, { body, token: null }),
        await api.ask(http, {
          body,
          token: await api.token({ scopes: Scope.options.filter((scope) => scope !== needed) }),
        }),
        await api.ask(`${http}${http.includes('?') ? '&' : '?'}unknown=1`, { body }),
      ];
      expect(refusals.map(({ status }) => status)).toEqual([401, 403, 422]);
      for (const { status, body: problem } of refusals) {
        const response = one.operation.responses[status];
        expect(checkOf(response?.content['application/problem+json']?.schema ?? {})(problem)).toEqual([]);
        expect(response?.description).toContain(`\`${String(problem.code)}\``);
      }
    },
  );

  test('the statuses of a response are those of its codes', () => {
    for (const { operation } of documented) {
      for (const [status, { description }] of Object.entries(operation.responses)) {
        const codes = [...description.matchAll(/`([\w-]+)`:/g)].map(([, code = '']) => code);
        expect(codes.every((code) => code in errors && String(Reflect.get(errors, code).status) === status)).toBe(true);
      }
    }
  });
});

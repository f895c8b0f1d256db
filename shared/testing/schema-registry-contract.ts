import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SchemaRegistry } from '../runtime/schema-registry.ts';

const slow = { timeout: 30_000 };

/** Holds a schema registry to the behaviour that the shell relies on. `connect` gives a new client of the same registry. */
export function schemaRegistryContract(name: string, connect: () => Promise<SchemaRegistry>): void {
  describe(`${name}: the schema registry`, () => {
    test('a registered schema is found by its text and by its id', slow, async () => {
      const [registry, other] = [await connect(), await connect()];
      const subject = newSubject();
      const id = await registry.register(subject, entry());
      expect(id).toBeGreaterThan(0);
      expect(await registry.idOf(subject, entry())).toBe(id);
      expect(await other.idOf(subject, entry())).toBe(id);
      expect(await other.lookUp(id)).toMatchObject({ type: 'known' });
    });

    test('the same text again has the same id', slow, async () => {
      const registry = await connect();
      const subject = newSubject();
      const id = await registry.register(subject, entry());
      expect(await registry.register(subject, entry())).toBe(id);
      expect(await (await connect()).register(subject, entry())).toBe(id);
    });

    test('what is not registered has no id', slow, async () => {
      const registry = await connect();
      const subject = newSubject();
      expect(await registry.idOf(subject, entry())).toBeUndefined();
      await registry.register(subject, entry());
      expect(await registry.idOf(subject, entry({ note: { type: 'string' } }))).toBeUndefined();
      expect(await registry.idOf(newSubject(), entry())).toBeUndefined();
    });

    test('the first schema of a subject passes the check, which registers nothing', slow, async () => {
      const registry = await connect();
      const subject = newSubject();
      await registry.check(subject, entry());
      expect(await registry.idOf(subject, entry())).toBeUndefined();
    });

    test('an id that nobody registered is unknown', slow, async () => {
      expect(await (await connect()).lookUp(987_654_321)).toEqual({ type: 'unknown' });
    });

    test('additions are compatible and get an id of their own', slow, async () => {
      const registry = await connect();
      for (const [before, after] of compatible) {
        const subject = newSubject();
        const first = await registry.register(subject, before);
        await registry.check(subject, after);
        expect(await registry.idOf(subject, after)).toBeUndefined();
        const second = await registry.register(subject, after);
        expect(second).not.toBe(first);
        expect(await registry.idOf(subject, before)).toBe(first);
        expect(await registry.idOf(subject, after)).toBe(second);
      }
    });

    for (const [change, before, after] of incompatible) {
      test(`${change} is refused and leaves the subject as it was`, slow, async () => {
        const registry = await connect();
        const subject = newSubject();
        const id = await registry.register(subject, before);
        await expect(registry.check(subject, after)).rejects.toMatchObject({ code: 'schema-incompatible' });
        await expect(registry.register(subject, after)).rejects.toMatchObject({
          name: 'BusError',
          code: 'schema-incompatible',
        });
        expect(await registry.idOf(subject, after)).toBeUndefined();
        expect(await registry.idOf(subject, before)).toBe(id);
      });
    }
  });
}

const newSubject = (): string => `contract-${randomUUID()}-value`;

type Property = Readonly<Record<string, unknown>>;

const closed = (properties: Readonly<Record<string, Property>>, required: readonly string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const draft = (schema: Property): string =>
  JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema });

const base = { id: { type: 'string' }, count: { type: 'integer' }, title: { type: 'string' } };

/** A closed object with two required properties and an optional one, and what a test adds or replaces. */
const entry = (more: Readonly<Record<string, Property>> = {}, required: readonly string[] = ['id', 'count']): string =>
  draft(closed({ ...base, ...more }, required));

const member = (type: string) =>
  closed({ type: { type: 'string', const: type }, id: { type: 'string' } }, ['type', 'id']);

const union = (...types: readonly string[]): string => draft({ anyOf: types.map(member) });

const compatible: readonly (readonly [before: string, after: string])[] = [
  [entry(), entry({ note: { type: 'string' } })],
  [union('entry.written', 'entry.removed'), union('entry.written', 'entry.removed', 'entry.moved')],
];

const incompatible: readonly (readonly [change: string, before: string, after: string])[] = [
  ['a new required property', entry(), entry({ note: { type: 'string' } }, ['id', 'count', 'note'])],
  ['a property that becomes required', entry(), entry({}, ['id', 'count', 'title'])],
  ['a removed property', entry({ note: { type: 'string' } }), entry()],
  ['a property of another type', entry(), entry({ count: { type: 'string' } })],
  ['a removed member of a union', union('entry.written', 'entry.removed'), union('entry.written')],
];

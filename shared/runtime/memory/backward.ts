import { isDeepStrictEqual } from 'node:util';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Whether every value of the older JSON Schema is one of the newer. Covers what the schemas of topics are made of
 * (draft-7: closed objects, unions, constants, bounds); what it does not know counts as compatible only when unchanged.
 */
export function isBackwardCompatible(older: unknown, newer: unknown): boolean {
  if (newer === true || older === false) return true;
  if (newer === false) return false;
  const [from, to] = [schemaOf(older), schemaOf(newer)];
  if (isDeepStrictEqual(from, to)) return true;

  const fromMembers = membersOf(from);
  if (fromMembers !== undefined) return fromMembers.every((member) => isBackwardCompatible(member, to));
  const toMembers = membersOf(to);
  if (toMembers !== undefined) return toMembers.some((member) => isBackwardCompatible(from, member));

  return (
    acceptsValues(from, to) &&
    acceptsTypes(from, to) &&
    acceptsBounds(from, to) &&
    acceptsProperties(from, to) &&
    (to.items === undefined || isBackwardCompatible(from.items ?? true, to.items)) &&
    Object.keys(to).every(
      (word) => understood.has(word) || isNewDefinitions(word, from) || isDeepStrictEqual(from[word], to[word]),
    )
  );
}

/** Definitions say nothing by themselves; where there were none, nothing older refers to one. */
const isNewDefinitions = (word: string, from: Schema): boolean => word === 'definitions' && from[word] === undefined;

const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const understood = new Set([
  ...['$schema', '$id', 'title', 'description', 'default', 'examples', 'type', 'const', 'enum', 'items'],
  ...['properties', 'required', 'additionalProperties', ...lowerBounds, ...upperBounds],
]);

const schemaOf = (schema: unknown): Schema =>
  typeof schema === 'object' && schema !== null ? Object.fromEntries(Object.entries(schema)) : {};

const listOf = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

const membersOf = (schema: Schema): readonly unknown[] | undefined => listOf(schema.anyOf) ?? listOf(schema.oneOf);

const valuesOf = (schema: Schema): readonly unknown[] | undefined =>
  'const' in schema ? [schema.const] : listOf(schema.enum);

const typesOf = (schema: Schema): readonly unknown[] | undefined =>
  schema.type === undefined ? undefined : (listOf(schema.type) ?? [schema.type]);

function acceptsValues(from: Schema, to: Schema): boolean {
  const accepted = valuesOf(to);
  if (accepted === undefined) return true;
  return valuesOf(from)?.every((value) => accepted.some((each) => isDeepStrictEqual(each, value))) ?? false;
}

function acceptsTypes(from: Schema, to: Schema): boolean {
  const accepted = typesOf(to);
  if (accepted === undefined) return true;
  const accepts = (type: unknown): boolean =>
    accepted.includes(type) || (type === 'integer' && accepted.includes('number'));
  return typesOf(from)?.every(accepts) ?? false;
}

function acceptsBounds(from: Schema, to: Schema): boolean {
  const within = (bound: string, holds: (older: number, newer: number) => boolean): boolean => {
    const [older, newer] = [from[bound], to[bound]];
    return newer === undefined || (typeof older === 'number' && typeof newer === 'number' && holds(older, newer));
  };
  return (
    lowerBounds.every((bound) => within(bound, (older, newer) => newer <= older)) &&
    upperBounds.every((bound) => within(bound, (older, newer) => newer >= older))
  );
}

function acceptsProperties(from: Schema, to: Schema): boolean {
  const [older, newer] = [schemaOf(from.properties), schemaOf(to.properties)];
  const [olderRest, newerRest] = [from.additionalProperties ?? true, to.additionalProperties ?? true];
  const required = listOf(from.required) ?? [];
  return (
    (listOf(to.required) ?? []).every((name) => required.includes(name)) &&
    Object.entries(older).every(([name, schema]) => isBackwardCompatible(schema, newer[name] ?? newerRest)) &&
    Object.entries(newer).every(([name, schema]) => name in older || isBackwardCompatible(olderRest, schema)) &&
    isBackwardCompatible(olderRest, newerRest)
  );
}

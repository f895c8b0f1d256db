import { z } from 'zod';
import { type ConfigDeclaration, variableOf } from '../../shared/config.ts';
import { isSecretSchema } from '../../shared/secret.ts';
import { byText, type GeneratedFile } from './file.ts';
import { exportsOf, foldersWith, hasMembers, sourcesOf } from './folders.ts';
import { code, page, table } from './markdown.ts';

const isDeclaration = (value: unknown): value is ConfigDeclaration<unknown> =>
  hasMembers(value, { prefix: 'string', fields: 'object', schema: 'object' });

/** A setting as it is documented. */
export interface FieldText {
  readonly type: string;
  readonly bounds: string;
  readonly standard: string;
  readonly description: string;
}

/** The schema under defaults, optionals and pipes, each of which may carry the description. */
function* layersOf(schema: z.ZodType): Generator<z.ZodType> {
  yield schema;
  const { def } = schema;
  for (const name of ['innerType', 'in'] as const) {
    const inner: unknown = Reflect.get(def, name);
    if (inner instanceof z.ZodType) yield* layersOf(inner);
  }
}

const safe = (bound: unknown): bound is number =>
  typeof bound === 'number' && Number.isSafeInteger(bound) && Math.abs(bound) !== Number.MAX_SAFE_INTEGER;

function boundsOf(json: Readonly<Record<string, unknown>>): string {
  const between = (least: unknown, most: unknown, unit: string): string => {
    if (safe(least) && safe(most)) return `${least} to ${most}${unit}`;
    if (safe(least)) return `at least ${least}${unit}`;
    if (safe(most)) return `at most ${most}${unit}`;
    return '';
  };
  const { enum: values } = json;
  if (Array.isArray(values)) return values.map((value) => code(String(value))).join(', ');
  if (typeof json.pattern === 'string') return `fits ${code(json.pattern)}`;
  const number = between(json.minimum, json.maximum, '');
  return number === '' ? between(json.minLength, json.maxLength, ' characters') : number;
}

const typeNames = new Map([
  ['string', 'text'],
  ['array', 'list'],
  ['boolean', 'true or false'],
]);

const defaultText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Reads type, bounds, default and description from a field's schema. */
export function fieldText(schema: z.ZodType): FieldText {
  const layers = [...layersOf(schema)];
  const described = layers.find((layer) => layer.description !== undefined);
  const secret = layers.some(isSecretSchema);
  const output = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' });
  const input = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const json = output.type === undefined ? input : output;
  const required = !schema.safeParse(undefined).success;
  return {
    type: secret ? 'secret' : (typeNames.get(String(json.type)) ?? String(json.type ?? 'text')),
    bounds: secret ? '' : boundsOf(json),
    standard: required ? 'required' : output.default === undefined ? 'none' : code(defaultText(output.default)),
    description: described?.description ?? '',
  };
}

/** All settings that the sources declare, by prefix. */
export async function declaredSettings(): Promise<readonly ConfigDeclaration<unknown>[]> {
  const files = [
    ...sourcesOf('shared/runtime', /settings.*\.ts$/).map((name) => `shared/runtime/${name}`),
    ...foldersWith('services', 'config.ts').map((name) => `services/${name}/config.ts`),
  ];
  const exported = (await Promise.all(files.map(exportsOf))).flat().map(([, value]) => value);
  return [...new Set(exported.filter(isDeclaration))].sort((a, b) => byText(a.prefix, b.prefix));
}

const settingRow = (prefix: string, field: string, schema: z.ZodType): readonly string[] => {
  const { type, bounds, standard, description } = fieldText(schema);
  return [code(variableOf(prefix, field)), type, bounds, standard, description];
};

/** `docs/reference/settings.md`. */
export async function settingsPage(): Promise<GeneratedFile> {
  const sections = (await declaredSettings())
    .filter(({ fields }) => Object.keys(fields).length > 0)
    .flatMap(({ prefix, fields }) => [
      `## ${prefix}`,
      table(
        ['Variable', 'Type', 'Bounds', 'Default', 'What it does'],
        Object.entries(fields).map(([field, schema]) => settingRow(prefix, field, schema)),
      ),
    ]);
  const text = page('Settings', [
    'Environment variables, read once at start. An unknown name under one of these prefixes stops the start, and all problems are listed at once.',
    ...sections,
  ]);
  return { path: 'docs/reference/settings.md', text };
}

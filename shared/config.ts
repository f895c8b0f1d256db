import { z } from 'zod';
import { BusError } from './errors.ts';

/** Settings of one folder: every field bounded, described and with a default where one is safe. */
export interface ConfigDeclaration<Settings> {
  readonly prefix: string;
  readonly schema: z.ZodType<Settings>;
  readonly fields: Readonly<Record<string, z.ZodType>>;
}

/** Declares settings: `maxAttempts` under `OUTBOX_SENDER` is `OUTBOX_SENDER_MAX_ATTEMPTS`. */
export function defineConfig<Shape extends Record<string, z.ZodType>>(
  prefix: string,
  fields: Shape,
): ConfigDeclaration<z.infer<z.ZodObject<Shape>>> {
  return { prefix, fields, schema: z.strictObject(fields) as unknown as z.ZodType<z.infer<z.ZodObject<Shape>>> };
}

/** The environment variable of a setting. */
export const variableOf = (prefix: string, field: string): string =>
  `${prefix}_${field.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/** A switch: true/false, 1/0, yes/no, on/off. */
export const flag = () => z.stringbool().or(z.boolean());

/**
 * Reads declared settings from an environment. An unknown name under a known prefix, a missing or an out-of-bounds value
 * throws `setting-invalid`, which lists all of them at once. Values are not printed: they may be secrets.
 */
export function readConfig<const D extends readonly ConfigDeclaration<unknown>[]>(
  declarations: D,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly [K in keyof D]: D[K] extends ConfigDeclaration<infer S> ? S : never } {
  const problems: string[] = [];
  const known = new Set(
    declarations.flatMap(({ prefix, fields }) => Object.keys(fields).map((field) => variableOf(prefix, field))),
  );
  for (const name of Object.keys(environment)) {
    if (known.has(name)) continue;
    if (declarations.some(({ prefix }) => name.startsWith(`${prefix}_`))) problems.push(`${name}: no such setting`);
  }
  const read = declarations.map(({ prefix, fields, schema }) => {
    const given: Record<string, string> = {};
    for (const field of Object.keys(fields)) {
      const value = environment[variableOf(prefix, field)];
      if (value !== undefined && value !== '') given[field] = value;
    }
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) {
      problems.push(`${variableOf(prefix, String(issue.path[0] ?? ''))}: ${issue.message}`);
    }
    return undefined;
  });
  if (problems.length > 0) throw new BusError('setting-invalid', { problems: problems.sort() });
  // Each value was parsed by the schema of its own declaration, in order.
  return read as unknown as { readonly [K in keyof D]: D[K] extends ConfigDeclaration<infer S> ? S : never };
}

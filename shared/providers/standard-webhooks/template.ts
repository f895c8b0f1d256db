import { z } from 'zod';

const key = '[^{}.]+';
const path = `${key}(?:\\.${key})*`;

/** A way to a member of a body: its name, or names with dots between them; a number counts in a list. */
export const Path = z
  .string()
  .min(1)
  .max(200)
  .regex(new RegExp(`^${path}$`), 'A path is expected, such as data.orderId.');

/** A text with paths in braces: `order:{data.orderId}`. */
export const Template = z
  .string()
  .min(1)
  .max(500)
  .regex(
    new RegExp(`^(?:[^{}]|\\{${path}\\})+$`),
    'A text with paths in braces is expected, such as order:{data.orderId}.',
  );

/** A template with its paths filled in, or the paths at which the body has no text, number or truth value. */
export type Rendered =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly missing: readonly string[] };

/** Fills in the paths of a template. */
export function render(template: string, body: unknown): Rendered {
  const missing: string[] = [];
  const text = template.replaceAll(/\{([^{}]+)\}/g, (_, place: string) => {
    const value = textOf(valueAt(body, place));
    if (value === undefined) missing.push(place);
    return value ?? '';
  });
  return missing.length === 0 ? { ok: true, text } : { ok: false, missing };
}

/** The value at a path of a body, or undefined. */
export function valueAt(body: unknown, place: string): unknown {
  let value = body;
  for (const name of place.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    // `hasOwn` has just found the member.
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

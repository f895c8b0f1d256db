import { z } from 'zod';

/** A member of a command's options as the command line knows it. */
export interface Flag {
  readonly member: string;
  /** `--config-file <path>`, `--no-wait`, or the bare name of a place: `agent`, `id...`. */
  readonly syntax: string;
  readonly description: string;
  readonly required: boolean;
  readonly repeatable: boolean;
  readonly fallback: string | undefined;
}

interface Shape {
  readonly inner: z.ZodType;
  readonly required: boolean;
  readonly fallback: unknown;
  readonly meta: z.core.GlobalMeta;
}

/** Looks through what wraps a type: optional, default, transformations. */
function shapeOf(schema: z.ZodType): Shape {
  let inner = schema;
  let required = true;
  let fallback: unknown;
  let meta: z.core.GlobalMeta = inner.meta() ?? {};
  for (;;) {
    if (inner instanceof z.ZodOptional) required = false;
    if (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) {
      required = false;
      fallback = inner.def.defaultValue;
    }
    const next: unknown =
      inner instanceof z.ZodPipe ? inner.def.in : 'innerType' in inner.def ? inner.def.innerType : undefined;
    if (!(next instanceof z.ZodType)) return { inner, required, fallback, meta };
    inner = next;
    meta = { ...inner.meta(), ...meta };
  }
}

function placeholderOf({ inner, meta }: Shape): string {
  const { placeholder } = meta;
  if (typeof placeholder === 'string') return placeholder;
  if (inner instanceof z.ZodEnum) return inner.options.join('|');
  if (inner instanceof z.ZodNumber) return 'number';
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodType) return placeholderOf(shapeOf(inner.element));
  return 'text';
}

const kebabCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The flags of a command, and what is given by place, from the declaration of its options. */
export function flagsOf(command: { readonly options: z.ZodObject; readonly positional?: readonly string[] }): {
  readonly places: readonly Flag[];
  readonly flags: readonly Flag[];
} {
  const all = Object.entries(command.options.shape).map(([member, schema]): Flag => {
    // A ZodObject's members are declared by the core's narrower type; all of ours are made by zod's own builders.
    const shape = shapeOf(schema as z.ZodType);
    const { inner, fallback } = shape;
    const isPlace = command.positional?.includes(member) ?? false;
    const repeatable = inner instanceof z.ZodArray;
    const flag = kebabCase(member);
    const syntax = (): string => {
      if (isPlace) return `${flag}${repeatable ? '...' : ''}`;
      if (inner instanceof z.ZodBoolean) return fallback === true ? `--no-${flag}` : `--${flag}`;
      return `--${flag} <${placeholderOf(shape)}>`;
    };
    return {
      member,
      syntax: syntax(),
      description: shape.meta.description ?? '',
      required: shape.required && !(inner instanceof z.ZodBoolean),
      repeatable,
      fallback: typeof fallback === 'number' || typeof fallback === 'string' ? String(fallback) : undefined,
    };
  });
  const places = (command.positional ?? []).flatMap((member) => all.filter((flag) => flag.member === member));
  return { places, flags: all.filter((flag) => !places.includes(flag)) };
}

/** The problems of what was typed, one a line, each with the flag or place it is about. */
export function usageProblems(
  command: { readonly options: z.ZodObject; readonly positional?: readonly string[] },
  error: z.ZodError,
): readonly string[] {
  const { places, flags } = flagsOf(command);
  const named = new Map([
    ...places.map(({ member, syntax }) => [member, `<${syntax}>`] as const),
    ...flags.map(({ member, syntax }) => [member, syntax.split(' ')[0] ?? syntax] as const),
  ]);
  return error.issues.map(({ path, message }) => `${named.get(String(path[0])) ?? path.join('.')}: ${message}`);
}

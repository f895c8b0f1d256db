import { inspect } from 'node:util';
import { z } from 'zod';

/** A value that no log, JSON or template shows; `reveal` is the one way to it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The secret text itself: for a signature, a header or a cipher, never for a log. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

const secretSchemas = new WeakSet<z.ZodType>();

/** A schema for a secret setting: non-empty text that comes out as a `Secret`. */
export function secret(): z.ZodType<Secret> {
  const schema = z
    .string()
    .min(1)
    .max(10_000)
    .transform((value) => new Secret(value));
  secretSchemas.add(schema);
  return schema;
}

/** Whether a schema was made by `secret()`: such members are sealed at rest and never printed. */
export const isSecretSchema = (schema: z.ZodType): boolean => secretSchemas.has(schema);

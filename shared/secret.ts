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

// Definitions, not schemas: `.describe()` and `.meta()` give back another schema of the same definition.
const secretDefinitions = new WeakSet<object>();

/** A schema for a secret setting: non-empty text that comes out as a `Secret`. */
export function secret(): z.ZodType<Secret> {
  const schema = z
    .string()
    .min(1)
    .max(10_000)
    .transform((value) => new Secret(value));
  secretDefinitions.add(schema._zod.def);
  return schema;
}

/** Whether a schema was made by `secret()`: such members are sealed at rest and never printed. */
export const isSecretSchema = (schema: z.ZodType): boolean => secretDefinitions.has(schema._zod.def);

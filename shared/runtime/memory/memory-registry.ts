import { BusError } from '../../errors.ts';
import type { SchemaRegistry } from '../schema-registry.ts';
import { isBackwardCompatible } from './backward.ts';
import { attempt } from './faults.ts';
import type { Process } from './process.ts';

/** The schemas that are registered, which all processes share. */
export interface MemoryRegistryState {
  readonly check: (subject: string, schema: string) => void;
  readonly register: (subject: string, schema: string) => number;
  readonly idOf: (subject: string, schema: string) => number | undefined;
  readonly subjectOf: (id: number) => string | undefined;
}

/** Makes an empty registry. */
export function createMemoryRegistryState(): MemoryRegistryState {
  const schemas: { readonly subject: string; readonly schema: string }[] = [];

  const idOf = (subject: string, schema: string): number | undefined => {
    const index = schemas.findIndex((each) => each.subject === subject && each.schema === schema);
    return index < 0 ? undefined : index + 1;
  };
  const check = (subject: string, schema: string): void => {
    const latest = schemas.findLast((each) => each.subject === subject);
    if (latest !== undefined && !isBackwardCompatible(JSON.parse(latest.schema), JSON.parse(schema))) {
      throw new BusError('schema-incompatible', { subject });
    }
  };
  return {
    idOf,
    check,
    subjectOf: (id) => schemas[id - 1]?.subject,
    register(subject, schema) {
      const known = idOf(subject, schema);
      if (known !== undefined) return known;
      check(subject, schema);
      return schemas.push({ subject, schema });
    },
  };
}

/** The registry as one process has it. */
export function createMemoryRegistry(state: MemoryRegistryState, process: Process, failures: number): SchemaRegistry {
  return {
    idOf: (subject, schema) => attempt(process, failures, `id-of ${subject}`, () => state.idOf(subject, schema)),
    lookUp: (id) =>
      attempt(process, failures, `look-up ${id}`, () => {
        const subject = state.subjectOf(id);
        return subject === undefined ? { type: 'unknown' } : { type: 'known', subject };
      }),
    check: (subject, schema) => attempt(process, failures, `check ${subject}`, () => state.check(subject, schema)),
    register: (subject, schema) =>
      attempt(process, failures, `register ${subject}`, () => state.register(subject, schema)),
  };
}

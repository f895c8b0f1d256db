import type { Projection, Topic } from '../../schemas/define.ts';
import { byText } from './file.ts';
import { exportsOf, hasMembers, sourcesOf } from './folders.ts';

/** A topic or projection, and where it is declared. */
export interface Declared<T> {
  readonly file: string;
  readonly exportName: string;
  readonly declaration: T;
}

const isTopic = (value: unknown): value is Topic =>
  hasMembers(value, { name: 'string', summary: 'string', value: 'object', key: 'function' }) && 'keep' in value;

const isProjection = (value: unknown): value is Projection =>
  hasMembers(value, { name: 'string', summary: 'string', value: 'object', stage: 'string', at: 'function' });

/** All topics and projections of `schemas/`, by name. */
export async function declaredSchemas(): Promise<{
  readonly topics: readonly Declared<Topic>[];
  readonly projections: readonly Declared<Projection>[];
}> {
  const topics: Declared<Topic>[] = [];
  const projections: Declared<Projection>[] = [];
  for (const file of sourcesOf('schemas').filter((name) => name !== 'index.ts')) {
    for (const [exportName, declaration] of await exportsOf(`schemas/${file}`)) {
      if (isTopic(declaration)) topics.push({ file, exportName, declaration });
      if (isProjection(declaration)) projections.push({ file, exportName, declaration });
    }
  }
  const byName = (a: Declared<{ readonly name: string }>, b: Declared<{ readonly name: string }>): number =>
    byText(a.declaration.name, b.declaration.name);
  return { topics: topics.sort(byName), projections: projections.sort(byName) };
}

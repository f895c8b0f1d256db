import { readdirSync, readFileSync } from 'node:fs';

/** A text file of the repository: its path from the root, with slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** The repository's root. */
export const root = new URL('../../', import.meta.url);

const notOurs = new Set(['node_modules', '.git', '.signalbox', 'target', 'coverage', 'fixtures', 'golden']);

/** All files below a folder that are ours and whose path fits, sorted. */
export function filesBelow(folder: string, fits: RegExp): readonly SourceFile[] {
  const found: SourceFile[] = [];
  const walk = (path: string): void => {
    for (const entry of readdirSync(new URL(path === '' ? '.' : `${path}/`, root), { withFileTypes: true })) {
      if (notOurs.has(entry.name)) continue;
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) walk(below);
      else if (fits.test(below)) found.push({ path: below, text: readFileSync(new URL(below, root), 'utf8') });
    }
  };
  walk(folder);
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The code without its comments. */
export const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');

const statements = [
  // import … from '…', also over several lines, and export … from '…'
  /^(?:import|export)\b[^;'"]*?\bfrom\s+['"]([^'"]+)['"]/gm,
  // import '…'
  /^import\s+['"]([^'"]+)['"]/gm,
  // import('…'), also as a type
  /\bimport\(\s*['"]([^'"]+)['"]/g,
] as const;

/** Where every import of a file leads: a path from the root, or a package's name. */
export function importsOf({ path, text }: SourceFile): readonly string[] {
  const code = withoutComments(text);
  const specifiers = statements.flatMap((statement) =>
    [...code.matchAll(statement)].map(([, specifier = '']) => specifier),
  );
  return [...new Set(specifiers.map((specifier) => resolved(path, specifier)))];
}

function resolved(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return new URL(specifier, `file:///${path}`).pathname.slice(1);
  if (specifier.startsWith('node:')) return specifier;
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

import { existsSync, readdirSync } from 'node:fs';
import { byText, root } from './file.ts';

/** The folders of a folder that hold a certain file, by name and sorted. */
export function foldersWith(folder: string, file: string): readonly string[] {
  const at = new URL(`${folder}/`, root);
  if (!existsSync(at)) return [];
  return readdirSync(at, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(new URL(`${entry.name}/${file}`, at)))
    .map((entry) => entry.name)
    .sort(byText);
}

/** The sources of a folder, tests aside, whose name fits; sorted. */
export function sourcesOf(folder: string, fits: RegExp = /\.ts$/): readonly string[] {
  const at = new URL(`${folder}/`, root);
  if (!existsSync(at)) return [];
  return readdirSync(at, { withFileTypes: true })
    .filter((entry) => entry.isFile() && fits.test(entry.name) && !entry.name.endsWith('.test.ts'))
    .map((entry) => entry.name)
    .sort(byText);
}

/** What a source of this repository exports, by name and sorted. */
export async function exportsOf(path: string): Promise<readonly (readonly [name: string, value: unknown])[]> {
  const module: Record<string, unknown> = await import(new URL(path, root).href);
  return Object.entries(module).sort(([a], [b]) => byText(a, b));
}

/** Whether a value has members of these names and types: how a declaration is told from a constant. */
export function hasMembers(value: unknown, members: Readonly<Record<string, string>>): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(members).every(([name, type]) => typeof Reflect.get(value, name) === type);
}

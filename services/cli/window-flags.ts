import { BatchWindows } from '../../schemas/binding.ts';
import { defaultWindows } from '../mirror-projector/batch/window.ts';
import { exactSpan, parseSpan } from './time.ts';

type Name = keyof BatchWindows;

/** `addressedLongTextMs` as it is typed: `addressed-long-text`. */
const typedName = (name: Name): string =>
  name.replace(/Ms$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

// An object's own keys, which its type names.
const names = Object.keys(defaultWindows) as readonly Name[];
const byTypedName = new Map(names.map((name) => [typedName(name), name]));

/** What windows may be, for whoever typed others. */
export const windowForm =
  `must be NAME=TIME, as addressed=1500ms, each NAME once and one of ${[...byTypedName.keys()].join(', ')}; ` +
  'TIME is from 0ms to 1h';

/** Reads `addressed=1500ms` and others; undefined where one is none, or comes twice. */
export function parseWindows(texts: readonly string[]): BatchWindows | undefined {
  const windows: { [Window in Name]?: number } = {};
  for (const text of texts) {
    const [, typed = '', time = ''] = /^([a-z-]+)=(\S+)$/.exec(text.trim()) ?? [];
    const name = byTypedName.get(typed);
    const ms = parseSpan(time);
    if (name === undefined || ms === undefined || windows[name] !== undefined) return undefined;
    windows[name] = ms;
  }
  return BatchWindows.safeParse(windows).data;
}

/** Each window as it holds for a binding, in the form in which it is typed; what was set stands beside its default. */
export function windowLines(windows: BatchWindows = {}): readonly string[] {
  const width = Math.max(...names.map((name) => typedName(name).length));
  return names.map((name) => {
    const [set, byDefault] = [windows[name], defaultWindows[name]];
    const told = set === undefined ? exactSpan(byDefault) : `${exactSpan(set)} (default ${exactSpan(byDefault)})`;
    return `${typedName(name).padEnd(width)}  ${told}`;
  });
}

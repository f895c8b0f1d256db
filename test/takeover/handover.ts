import { setTimeout as delay } from 'node:timers/promises';
import type { PlaceReader, Places } from '../e2e/places.ts';

/** Of these partitions those that have not yet applied a record which came after `before`. */
export const notMoved = (names: Iterable<string>, before: Places, now: Places): ReadonlySet<string> =>
  new Set([...names].filter((name) => (now.get(name)?.applied ?? -1) < (before.get(name)?.end ?? 0)));

const betweenLooksMs = 20;

/** Waits until each of these partitions has applied a record that is appended from now on. Rejects after `limitMs`. */
export async function untilMoved(
  reader: PlaceReader,
  { names, limitMs }: { readonly names: readonly string[]; readonly limitMs: number },
): Promise<void> {
  const stages = [...new Set(names.map((name) => name.split('/')[0] ?? ''))];
  const limit = performance.now() + limitMs;
  let before: Places | undefined;
  for (let left: ReadonlySet<string> = new Set(names); left.size > 0; ) {
    if (performance.now() > limit) throw new Error(`after ${limitMs} ms not moved: ${[...left].join(', ')}`);
    try {
      const now = await reader.look(stages);
      before ??= now;
      left = notMoved(left, before, now);
    } catch {
      // The broker has just come back, and connections to it are still broken: the next look is as good.
    }
    if (left.size > 0) await delay(betweenLooksMs);
  }
}

/** Whether so many members share all partitions of a group, each of them some. */
export function isShared(
  owners: ReadonlyMap<string, readonly number[]> | undefined,
  { members, partitions }: { readonly members: number; readonly partitions: number },
): boolean {
  if (owners?.size !== members) return false;
  const lists = [...owners.values()];
  return lists.every((list) => list.length > 0) && new Set(lists.flat()).size === partitions;
}

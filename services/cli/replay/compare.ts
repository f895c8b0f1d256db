import type { End } from './ends.ts';

/** What was decided on one record and route, and what would be now. Equal ends: something in what was written differs. */
export interface Difference {
  readonly rootId: string;
  readonly partition: number;
  readonly offset: string;
  readonly route: string;
  readonly was: readonly string[];
  readonly now: readonly string[];
}

/** How often an end comes now where it did not before, and the other way round. */
export interface Tally {
  readonly end: string;
  readonly more: number;
  readonly fewer: number;
}

/** The whole difference between what was decided and what would be. */
export interface Comparison {
  readonly tallies: readonly Tally[];
  readonly differences: readonly Difference[];
}

interface Pair {
  readonly was: End[];
  readonly now: End[];
}

/** Compares ends, record by record and route by route, in the order of the log. */
export function compareEnds(was: readonly End[], now: readonly End[]): Comparison {
  const pairs = new Map<string, Pair>();
  const pairOf = ({ partition, offset, route }: End): Pair => {
    const key = `${partition}/${offset}/${route}`;
    const pair = pairs.get(key) ?? { was: [], now: [] };
    pairs.set(key, pair);
    return pair;
  };
  for (const end of was) pairOf(end).was.push(end);
  for (const end of now) pairOf(end).now.push(end);

  const tallies = new Map<string, { more: number; fewer: number }>();
  const differences: (Difference & { readonly at: bigint })[] = [];
  for (const pair of pairs.values()) {
    if (textOf(pair.was) === textOf(pair.now)) continue;
    const [any] = [...pair.now, ...pair.was];
    if (any === undefined) continue;
    for (const { name } of without(pair.now, pair.was)) tallyOf(tallies, name).more++;
    for (const { name } of without(pair.was, pair.now)) tallyOf(tallies, name).fewer++;
    differences.push({
      ...{ rootId: any.rootId, partition: any.partition, offset: String(any.offset), route: any.route, at: any.offset },
      was: namesOf(pair.was),
      now: namesOf(pair.now),
    });
  }
  return {
    tallies: [...tallies]
      .map(([end, counts]) => ({ end, ...counts }))
      .sort((a, b) => b.more + b.fewer - a.more - a.fewer || (a.end < b.end ? -1 : 1)),
    differences: differences
      .sort((a, b) => a.partition - b.partition || Number(a.at - b.at) || (a.route < b.route ? -1 : 1))
      .map(({ at: _, ...difference }) => difference),
  };
}

const textOf = (ends: readonly End[]): string =>
  ends
    .map(({ name, content }) => `${name} ${content}`)
    .sort()
    .join('\n');

const namesOf = (ends: readonly End[]): readonly string[] =>
  ends.map(({ name, reason }) => (reason === undefined ? name : `${name} (${reason})`)).sort();

/** The ends of one list that the other does not have, by their names. */
function without(ends: readonly End[], others: readonly End[]): readonly End[] {
  const left = others.map(({ name }) => name);
  return ends.filter(({ name }) => {
    const index = left.indexOf(name);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function tallyOf(tallies: Map<string, { more: number; fewer: number }>, end: string): { more: number; fewer: number } {
  const known = tallies.get(end) ?? { more: 0, fewer: 0 };
  tallies.set(end, known);
  return known;
}

/** Rows remembered between the batches of a partition, as their JSON: a text is one thing to keep, its values are many. */
export interface RowCache {
  /** Null stands for a row that is known to be absent, undefined for one of which nothing is known. */
  readonly get: (row: string) => string | null | undefined;
  readonly set: (row: string, json: string | null) => void;
  /** Forgets what is too much, the rows that were longest not written first; to be called between batches. */
  readonly shrink: () => void;
}

/**
 * Makes a cache of at most so many rows. It has an older and a younger half: what is written lies in the younger one, which
 * becomes the older one when it is full. So a row costs one step to write, and nothing to forget.
 */
export function createRowCache(most: number): RowCache {
  let younger = new Map<string, string | null>();
  let older = new Map<string, string | null>();
  return {
    get(row) {
      const json = younger.get(row);
      return json === undefined ? older.get(row) : json;
    },
    set: (row, json) => void younger.set(row, json),
    shrink() {
      if (younger.size <= most / 2) return;
      older = younger.size <= most ? younger : new Map();
      younger = new Map();
    },
  };
}

const filterBits = 2 ** 23;
const [seedOfFirst, seedOfSecond] = [0x811c9dc5, 0x9e3779b9] as const;

/** Names of rows, of which it is known for certain only that one was never added. */
export interface RowFilter {
  readonly add: (row: string) => void;
  /** False only where it was never added. */
  readonly mayHave: (row: string) => boolean;
}

/** A Bloom filter of a mebibyte: one of a million rows that it was not given counts as given in one case of twenty. */
export function createRowFilter(): RowFilter {
  const bits = new Uint8Array(filterBits / 8);
  const isSet = (bit: number): boolean => ((bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  const set = (bit: number): void => {
    bits[bit >>> 3] = (bits[bit >>> 3] ?? 0) | (1 << (bit & 7));
  };
  return {
    add(row) {
      set(bitOf(row, seedOfFirst));
      set(bitOf(row, seedOfSecond));
    },
    mayHave: (row) => isSet(bitOf(row, seedOfFirst)) && isSet(bitOf(row, seedOfSecond)),
  };
}

/** FNV-1a over the characters, mixed so that all bits count. */
function bitOf(row: string, seed: number): number {
  let hash = seed;
  for (let index = 0; index < row.length; index++) hash = Math.imul(hash ^ row.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 9;
}

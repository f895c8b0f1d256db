/** A source of chance. The same seed gives the same numbers. */
export interface Random {
  /** A whole number from 0 to below `count`. */
  readonly pick: (count: number) => number;
  /** True with this probability. */
  readonly chance: (probability: number) => boolean;
}

/** Makes chance from a seed. Source: mulberry32, public domain, T. Ettinger. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    pick: (count) => Math.floor(next() * count),
    // A probability of 0 takes no number, so that a fault that is off leaves the rest of a run as it is.
    chance: (probability) => probability > 0 && next() < probability,
  };
}

/** No chance at all: the most is picked and nothing goes wrong. */
export const noChance: Random = { pick: (count) => count - 1, chance: () => false };

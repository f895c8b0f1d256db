import { createRandom } from '../e2e/load.ts';
import type { Api } from './frames.ts';
import type { Mischief } from './proxy.ts';

/** One fault of a run. `which` chooses among the copies that run by then. */
export type Fault =
  | { readonly type: 'kill'; readonly which: number; readonly awayMs: number }
  | { readonly type: 'freeze'; readonly which: number; readonly ms: number }
  | { readonly type: 'add'; readonly which: number }
  | { readonly type: 'remove'; readonly which: number }
  | { readonly type: 'broker-kill'; readonly awayMs: number }
  | { readonly type: 'redis-kill'; readonly awayMs: number; readonly lostWrites: number }
  | { readonly type: 'redis-flush' }
  | { readonly type: 'registry-kill'; readonly awayMs: number }
  | { readonly type: 'registry-shut'; readonly ms: number }
  | { readonly type: 'registry-slow'; readonly ms: number; readonly delayMs: number }
  | { readonly type: 'proxy'; readonly api: Api; readonly nth: number; readonly mischief: Mischief };

/** A fault and its time since the beginning. */
export interface Scheduled {
  readonly atMs: number;
  readonly fault: Fault;
}

type Random = (below: number) => number;

/** From the least to the most, both included. */
const between = (random: Random, least: number, most: number): number => least + random(most - least + 1);

const proxied =
  (api: Api, mischief: (random: Random) => Mischief) =>
  (random: Random): Fault => ({ type: 'proxy', api, nth: between(random, 1, 5), mischief: mischief(random) });
const hold = (random: Random): Mischief => ({ do: 'hold', ms: between(random, 1_000, 20_000) });

// What is drawn, and how often among all of them. The session of a copy ends after 6 s.
const kinds: readonly { readonly share: number; readonly draw: (random: Random) => Fault }[] = [
  { share: 30, draw: (r) => ({ type: 'kill', which: r(1_000), awayMs: between(r, 0, 3_000) }) },
  { share: 14, draw: (r) => ({ type: 'freeze', which: r(1_000), ms: between(r, 6_500, 10_000) }) },
  { share: 8, draw: (r) => ({ type: 'add', which: r(1_000) }) },
  { share: 8, draw: (r) => ({ type: 'remove', which: r(1_000) }) },
  { share: 3, draw: (r) => ({ type: 'broker-kill', awayMs: between(r, 0, 4_000) }) },
  {
    share: 6,
    draw: (r) => ({ type: 'redis-kill', awayMs: between(r, 0, 3_000), lostWrites: between(r, 1, 400) }),
  },
  { share: 4, draw: () => ({ type: 'redis-flush' }) },
  { share: 1, draw: (r) => ({ type: 'registry-kill', awayMs: between(r, 0, 4_000) }) },
  { share: 3, draw: (r) => ({ type: 'registry-shut', ms: between(r, 1_000, 6_000) }) },
  { share: 3, draw: (r) => ({ type: 'registry-slow', ms: between(r, 2_000, 8_000), delayMs: between(r, 100, 2_000) }) },
  { share: 5, draw: proxied('Produce', () => ({ do: 'cut' })) },
  { share: 3, draw: proxied('Produce', () => ({ do: 'silence' })) },
  { share: 3, draw: proxied('Produce', () => ({ do: 'lose' })) },
  { share: 4, draw: proxied('Produce', hold) },
  { share: 1, draw: proxied('Produce', () => ({ do: 'half-close' })) },
  { share: 3, draw: proxied('Fetch', () => ({ do: 'cut' })) },
  { share: 2, draw: proxied('Fetch', () => ({ do: 'silence' })) },
  { share: 2, draw: proxied('Fetch', hold) },
  { share: 1, draw: proxied('Fetch', () => ({ do: 'half-close' })) },
  { share: 2, draw: proxied('JoinGroup', () => ({ do: 'cut' })) },
  { share: 2, draw: proxied('JoinGroup', () => ({ do: 'silence' })) },
  { share: 2, draw: proxied('JoinGroup', hold) },
  { share: 2, draw: proxied('OffsetCommit', () => ({ do: 'cut' })) },
  { share: 2, draw: proxied('OffsetCommit', () => ({ do: 'silence' })) },
  { share: 2, draw: proxied('OffsetCommit', hold) },
  { share: 2, draw: proxied('Heartbeat', hold) },
];

/** The faults of a seed, spread over a time: each kind has its share, and what is left over is drawn. */
export function scheduleOf(options: {
  readonly seed: number;
  readonly faults: number;
  readonly timeMs: number;
}): readonly Scheduled[] {
  const { faults, timeMs } = options;
  const random = createRandom(options.seed);
  const pot = kinds.flatMap(({ share, draw }) => Array.from({ length: share }, () => draw));
  const drawn = kinds.flatMap(({ share, draw }) =>
    Array.from({ length: Math.floor((share * faults) / pot.length) }, () => draw(random)),
  );
  while (drawn.length < faults) {
    const draw = pot[random(pot.length)];
    if (draw !== undefined) drawn.push(draw(random));
  }
  for (let last = drawn.length - 1; last > 0; last--) {
    const other = random(last + 1);
    // Both lie within the list.
    [drawn[last], drawn[other]] = [drawn[other] as Fault, drawn[last] as Fault];
  }
  const step = timeMs / faults;
  return drawn.map((fault, index) => ({ atMs: Math.round(index * step + (random(1_000) / 1_000) * step), fault }));
}

/** A fault in a few words. */
export function nameOf(fault: Fault): string {
  return fault.type === 'proxy' ? `${fault.api} ${fault.mischief.do}` : fault.type;
}

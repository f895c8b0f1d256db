import { setTimeout as sleep } from 'node:timers/promises';
import { commentOf, numberIn } from './comments.ts';
import type { OutsideLog } from './log.ts';

/** Something between two topics that can be measured: the product or the bare chain. */
export interface Chain {
  readonly input: string;
  /** What the first hop writes. */
  readonly first: string;
  readonly output: string;
  readonly encode: (fact: unknown) => Buffer;
}

/** Numbers that no comment had before. */
export interface Numbers {
  readonly take: (count: number) => readonly number[];
}

const pollMs = 25;
const patienceMs = 120_000;

/** Publishes so many comments. */
export async function publishComments(log: OutsideLog, chain: Chain, numbers: readonly number[]): Promise<void> {
  const records = numbers.map(commentOf).map(({ key, fact }) => ({ key, value: chain.encode(fact) }));
  await log.publish(chain.input, records);
}

/** Waits until a topic holds so many records. */
export async function untilHeld(log: OutsideLog, topic: string, count: number): Promise<void> {
  const limit = performance.now() + patienceMs;
  while ((await log.held(topic)) < count) {
    if (performance.now() > limit) throw new Error(`${topic} holds ${await log.held(topic)} of ${count} records`);
    await sleep(pollMs);
  }
}

/**
 * Facts per second at the last hop, once the chain has been at a backlog for the warm-up, until nothing of it is left. The
 * backlog lies there before the chain starts.
 */
export async function catchUp(
  log: OutsideLog,
  chain: Chain,
  options: {
    readonly facts: number;
    readonly before: { readonly first: number; readonly output: number };
    readonly warmUpMs: number;
    readonly onBegun: () => void;
  },
): Promise<{ readonly perSecond: number; readonly counted: number }> {
  const { facts, before, warmUpMs, onBegun } = options;
  await untilHeld(log, chain.first, before.first + 1);
  await sleep(warmUpMs);
  const warm = await log.held(chain.output);
  onBegun();
  const began = performance.now();
  await untilHeld(log, chain.output, before.output + facts);
  const counted = before.output + facts - warm;
  if (counted < facts / 10)
    throw new Error(`only ${counted} of ${facts} facts were left after the warm-up: give more FACTS`);
  return { perSecond: (counted * 1_000) / (performance.now() - began), counted };
}

/**
 * Milliseconds from the acknowledged append of a comment to the read of what it became. Comments leave when they are due,
 * whatever became of those before; those of the warm-up are not counted.
 */
export async function latencies(
  log: OutsideLog,
  chain: Chain,
  options: { readonly perSecond: number; readonly warmUp: readonly number[]; readonly numbers: readonly number[] },
): Promise<readonly number[]> {
  const appended = new Map<number, number>();
  const read = new Map<number, number>();
  const watching = await log.watch(chain.output, (value) => {
    const number = numberIn(value);
    if (number !== undefined && !read.has(number)) read.set(number, performance.now());
  });
  const all = [...options.warmUp, ...options.numbers];
  const began = performance.now();
  const sending: Promise<void>[] = [];
  for (let next = 0; next < all.length; ) {
    const due = Math.min(all.length, 1 + Math.floor(((performance.now() - began) * options.perSecond) / 1_000));
    for (const number of all.slice(next, due)) {
      const { key, fact } = commentOf(number);
      const sent = log.publish(chain.input, [{ key, value: chain.encode(fact) }]);
      sending.push(sent.then(() => void appended.set(number, performance.now())));
    }
    next = due;
    await sleep(1);
  }
  await Promise.all(sending);
  const limit = performance.now() + patienceMs;
  while (!options.numbers.every((number) => read.has(number))) {
    if (performance.now() > limit) throw new Error(`only ${read.size} of ${all.length} came out of ${chain.output}`);
    await sleep(pollMs);
  }
  await watching.close();
  return options.numbers.map((number) => Math.max(0, (read.get(number) ?? 0) - (appended.get(number) ?? 0)));
}

/** The value below which a share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The value in the middle, of two the mean. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

import { setTimeout as delay } from 'node:timers/promises';
import { channels, entries } from '../../schemas/mirror.ts';
import { partitionOf } from '../../shared/partition.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { rowOf, type Store } from '../../shared/runtime/store.ts';
import type { EntryName } from './facts.ts';

/** What is wrong with what a reader sees of a row now, after what it saw before: a gap, or a step back. */
export function judge(name: string, before: number | undefined, now: number | undefined): string | undefined {
  if (before === undefined || now === before) return undefined;
  if (now === undefined) return `${name} was there and is gone`;
  return now < before ? `${name} went back from ${before} to ${now}` : undefined;
}

/** A row that is read again and again, by a number that only grows: an entry's revision, a channel's last fact. */
interface Watched {
  readonly row: string;
  readonly partition: number;
  readonly newness: 'providerTime' | 'lastSeenAt';
}

function watchedOf(names: readonly EntryName[], partitions: number): readonly Watched[] {
  const all = names.flatMap((name): readonly Watched[] => {
    const [entry, channel] = [entries.at(name), channels.at(name.signalChannelId)];
    const partition = partitionOf(channel.owner, partitions);
    return [
      { row: rowOf(entries.name, entry.key), partition, newness: 'providerTime' },
      { row: rowOf(channels.name, channel.key), partition, newness: 'lastSeenAt' },
    ];
  });
  return [...new Map(all.map((each) => [each.row, each])).values()];
}

/** Readers that go on until they are stopped. */
export interface Readers {
  readonly reads: () => number;
  readonly rows: number;
  readonly wrong: readonly string[];
  /** Rejects when a read fails. */
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

const [stage, betweenLoadsMs, steadyAtOnce, mostWrong] = ['mirror-projector', 1, 2, 1_000];

/**
 * Has some readers, each with a connection of its own, read entries and their channels as any program does: those that change
 * all the time as often as they may, since a step back would last some milliseconds, and the steady ones in turn.
 */
export async function startReaders(options: {
  readonly redisUrl: string;
  readonly partitions: number;
  readonly readers: number;
  /** Read the generation in use at once, as no reader should: they must find steps back, or they would find none ever. */
  readonly impatient: boolean;
  readonly changing: readonly EntryName[];
  readonly steady: readonly EntryName[];
}): Promise<Readers> {
  const { redisUrl, partitions } = options;
  const changing = watchedOf(options.changing, partitions);
  const known = new Set(changing.map(({ row }) => row));
  const steady = watchedOf(options.steady, partitions).filter(({ row }) => !known.has(row));
  const [hot, calm] = [changing, steady].map((all) => Map.groupBy(all, ({ partition }) => partition));
  const wrong: string[] = [];
  const stopping = new AbortController();
  let reads = 0;

  const start = async () => {
    const store = await createRedisStore({ url: redisUrl }, silentLog);
    const loadNow: Store['load'] = async (at, rows) => {
      const { inUse } = await store.generations(at);
      return (await store.view({ ...at, generation: inUse }, { rows, timers: [] })).rows;
    };
    const load = options.impatient ? loadNow : store.load;
    const seen = new Map<string, { readonly json: string; readonly now: number }>();
    const look = async (partition: number, rows: readonly Watched[]): Promise<void> => {
      const found = await load(
        { stage, partition },
        rows.map(({ row }) => row),
      );
      for (const [index, { row, newness }] of rows.entries()) {
        const [json, before] = [found[index], seen.get(row)];
        reads++;
        if (json !== undefined && json === before?.json) continue;
        // The one form in which rows are kept.
        const now = json === undefined ? undefined : (JSON.parse(json) as { v: Record<string, number> }).v[newness];
        const problem = judge(row, before?.now, now);
        if (problem !== undefined && wrong.length < mostWrong) wrong.push(problem);
        if (json !== undefined && now !== undefined) seen.set(row, { json, now });
      }
    };
    for (let partition = 0; partition < partitions; partition++) {
      await look(partition, [...(hot?.get(partition) ?? []), ...(calm?.get(partition) ?? [])]);
    }
    const missing = [...changing, ...steady].filter(({ row }) => !seen.has(row));
    if (missing.length > 0) throw new Error(`${missing.length} rows are not there, ${missing[0]?.row} for one`);
    return async (): Promise<void> => {
      try {
        for (let turn = 0; !stopping.signal.aborted; turn++) {
          const partition = turn % partitions;
          const others = calm?.get(partition) ?? [];
          const from = (Math.floor(turn / partitions) * steadyAtOnce) % Math.max(1, others.length);
          await look(partition, [...(hot?.get(partition) ?? []), ...others.slice(from, from + steadyAtOnce)]);
          await delay(betweenLoadsMs);
        }
      } finally {
        await store.close();
      }
    };
  };

  const runs = await Promise.all(Array.from({ length: options.readers }, start));
  const ended = Promise.all(runs.map((run) => run())).then(() => undefined);
  // Whoever does not wait for it meets it when it stops.
  ended.catch(() => undefined);
  return {
    reads: () => reads,
    rows: changing.length + steady.length,
    wrong,
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { channels, entries } from '../../schemas/mirror.ts';
import { createProjectionReader, type ProjectionReader } from '../../services/cli/why/projection-reader.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import type { EntryName } from './facts.ts';

/** What is wrong with what a reader sees of a row now, after what it saw before: a gap, or a step back. */
export function judge(name: string, before: number | undefined, now: number | undefined): string | undefined {
  if (before === undefined || now === before) return undefined;
  if (now === undefined) return `${name} was there and is gone`;
  return now < before ? `${name} went back from ${before} to ${now}` : undefined;
}

/** A row that is read again and again, by a number that only grows. */
interface Watched {
  readonly name: string;
  readonly read: (reader: ProjectionReader) => Promise<number | undefined>;
}

/** An entry is as new as its revision, a channel as the last fact that spoke of it. */
const watchedOf = (names: readonly EntryName[]): readonly Watched[] => [
  ...names.map((name) => ({
    name: `entry ${name.signalChannelId} ${name.sourceEntryId}`,
    read: async (reader: ProjectionReader) => (await reader.read(entries.at(name)))?.providerTime ?? undefined,
  })),
  ...[...new Set(names.map(({ signalChannelId }) => signalChannelId))].map((id) => ({
    name: `channel ${id}`,
    read: async (reader: ProjectionReader) => (await reader.read(channels.at(id)))?.lastSeenAt,
  })),
];

/** Readers that go on until they are stopped. */
export interface Readers {
  readonly reads: () => number;
  /** Rows that were there when they began. */
  readonly rows: number;
  readonly wrong: readonly string[];
  /** Rejects when a read fails. */
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

const [betweenReadsMs, mostWrong] = [1, 1_000];

/** Has some readers, each with a connection of its own, read these entries and their channels as any program does. */
export async function startReaders(options: {
  readonly redisUrl: string;
  readonly partitions: number;
  readonly readers: number;
  readonly names: readonly EntryName[];
}): Promise<Readers> {
  const watched = watchedOf(options.names);
  const wrong: string[] = [];
  const stopping = new AbortController();
  let reads = 0;

  const open = async () => {
    const store = await createRedisStore({ url: options.redisUrl }, silentLog);
    const { partitions } = options;
    const reader = await createProjectionReader({ store, stage: 'mirror-projector', partitions, now: Date.now });
    const seen = new Map<string, number | undefined>();
    const lookAt = async ({ name, read }: Watched): Promise<void> => {
      const now = await read(reader);
      const found = judge(name, seen.get(name), now);
      if (found !== undefined && wrong.length < mostWrong) wrong.push(found);
      seen.set(name, now);
      reads++;
    };
    for (const each of watched) await lookAt(each);
    const missing = watched.filter(({ name }) => seen.get(name) === undefined);
    if (missing.length > 0) throw new Error(`${missing.length} rows are not there, ${missing[0]?.name} for one`);
    const run = async (): Promise<void> => {
      try {
        for (let next = 0; !stopping.signal.aborted; next = (next + 1) % watched.length) {
          const each = watched[next];
          if (each !== undefined) await lookAt(each);
          await delay(betweenReadsMs);
        }
      } finally {
        await store.close();
      }
    };
    return run;
  };

  const runs = await Promise.all(Array.from({ length: options.readers }, open));
  const ended = Promise.all(runs.map((run) => run())).then(() => undefined);
  // Whoever does not wait for it meets it when it stops.
  ended.catch(() => undefined);
  return {
    reads: () => reads,
    rows: watched.length,
    wrong,
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

import { Redis } from 'ioredis';
import type { Copy } from '../chaos/fleet.ts';
import { type OutsideClient, pipelineStages } from '../e2e/kafka.ts';
import type { PlaceReader } from '../e2e/places.ts';
import type { Point } from './slope.ts';
import { createTrack, type Track } from './tracks.ts';

/** What was read over the time of a run. */
export interface Samples {
  readonly take: (atMs: number) => Promise<void>;
  readonly tracks: ReadonlyMap<string, Track>;
  /** Records that lie before all stages. */
  readonly behind: readonly Point[];
  readonly redisBytes: readonly Point[];
  /** What the topic of accepted facts held. */
  readonly accepted: readonly Point[];
  /** Who was there and gave no answer, and how often: copies, and the parts around them. */
  readonly silent: ReadonlyMap<string, number>;
  readonly close: () => void;
}

const metricsMs = 5_000;

/** Reads processes by their metrics, and the parts around them from outside. */
export function createSampling(options: {
  readonly redisUrl: string;
  readonly client: OutsideClient;
  readonly reader: PlaceReader;
  readonly running: () => readonly Copy[];
}): Samples {
  const { client, reader, running } = options;
  const redis = new Redis(options.redisUrl);
  const tracks = new Map<string, Track>();
  const silent = new Map<string, number>();
  const behind: Point[] = [];
  const redisBytes: Point[] = [];
  const accepted: Point[] = [];

  const noAnswer = (name: string): void => void silent.set(name, (silent.get(name) ?? 0) + 1);

  const readProcess = async (copy: Copy, atMs: number): Promise<void> => {
    const url = copy.probeUrl();
    if (url === undefined) return;
    try {
      const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(metricsMs) });
      const track = tracks.get(copy.name) ?? createTrack();
      tracks.set(copy.name, track);
      track.add(atMs, await answer.text());
    } catch {
      // One that is ending does not answer any more; of one that is not, it is told.
      if (copy.fate === 'running') noAnswer(copy.name);
    }
  };

  const readParts = async (atMs: number): Promise<void> => {
    try {
      const [places, memory, held] = await Promise.all([
        reader.look(),
        redis.info('memory'),
        client.held(pipelineStages[1].output),
      ]);
      const left = [...places.values()].reduce((sum, { applied, end }) => sum + end - applied - 1, 0);
      behind.push({ atMs, value: left });
      redisBytes.push({ atMs, value: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]) });
      accepted.push({ atMs, value: held });
    } catch {
      // One look that fails is no reason to end a long run; how many did is told.
      noAnswer('Kafka or Redis');
    }
  };

  return {
    take: async (atMs) => {
      await Promise.all([readParts(atMs), ...running().map((copy) => readProcess(copy, atMs))]);
    },
    ...{ tracks, silent, behind, redisBytes, accepted },
    close: () => redis.disconnect(),
  };
}

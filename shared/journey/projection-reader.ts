import { z } from 'zod';
import type { Place } from '../../schemas/define.ts';
import { partitionOf } from '../partition.ts';
import { rowOf, type Store } from '../runtime/store.ts';

/** Reads rows of one stage's projections from outside of the stage. */
export interface ProjectionReader {
  readonly read: <V>(place: Place<V>) => Promise<V | undefined>;
  /** The row in every partition, for a key that does not tell where it lies. */
  readonly readEverywhere: <V>(place: Place<V>) => Promise<readonly V[]>;
}

const Row = z.object({ v: z.unknown(), x: z.number().optional() });

/** Makes a reader. `partitions` is the count of the stage's input topic. */
export async function createProjectionReader(options: {
  readonly store: Store;
  readonly stage: string;
  readonly partitions: number;
  readonly now: () => number;
}): Promise<ProjectionReader> {
  const { store, stage, partitions, now } = options;

  const readIn = async <V>(place: Place<V>, partition: number): Promise<V | undefined> => {
    const row = rowOf(place.projection.name, place.key);
    const [json] = await store.load({ stage, partition }, [row]);
    if (json === undefined) return undefined;
    const { v, x } = Row.parse(JSON.parse(json));
    return x !== undefined && x <= now() ? undefined : place.projection.value.parse(v);
  };

  return {
    read: (place) => readIn(place, partitionOf(place.owner, partitions)),
    async readEverywhere(place) {
      const all = Array.from({ length: partitions }, (_, partition) => readIn(place, partition));
      return (await Promise.all(all)).filter((value) => value !== undefined);
    },
  };
}

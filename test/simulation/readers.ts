import { isUnavailable } from '../../shared/runtime/fold.ts';
import type { Simulation } from '../../shared/runtime/memory/simulation.ts';
import type { StatePartition } from '../../shared/runtime/store.ts';

/** Reads rows all the time, as somebody outside of a stage does; answers where a count was gone, or less than before. */
export function startReader(
  simulation: Simulation,
  wanted: readonly { readonly at: StatePartition; readonly row: string }[],
  countOf: (json: string) => number,
  /** Reads the generation in use at once, as no reader should: for the negative control. */
  impatient = false,
): { readonly reads: () => number; readonly wrong: () => readonly string[] } {
  const { store, clock } = simulation.process('reader');
  const wrong: string[] = [];
  let reads = 0;

  const read = async (at: StatePartition, row: string): Promise<readonly (string | undefined)[]> => {
    if (!impatient) return store.load(at, [row]);
    const { inUse } = await store.generations(at);
    return (await store.view({ ...at, generation: inUse }, { rows: [row], timers: [] })).rows;
  };

  const look = async (seen: Map<string, number>): Promise<void> => {
    for (const { at, row } of wanted) {
      const [json] = await read(at, row);
      reads++;
      const now = json === undefined ? 0 : countOf(json);
      const before = seen.get(row) ?? 0;
      if (now < before) wrong.push(`a reader saw ${row} go from ${before} to ${now}`);
      seen.set(row, now);
    }
  };

  const run = async (): Promise<void> => {
    for (const seen = new Map<string, number>(); ; ) {
      try {
        await look(seen);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      await clock.sleep(5);
    }
  };
  void run();
  return { reads: () => reads, wrong: () => wrong };
}

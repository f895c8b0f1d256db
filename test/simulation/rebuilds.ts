import type { Topic } from '../../schemas/define.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { isUnavailable } from '../../shared/runtime/fold.ts';
import type { SimulatedProcess, Simulation } from '../../shared/runtime/memory/simulation.ts';
import { rebuildStage } from '../../shared/runtime/rebuild.ts';
import { rebuildContext, rebuildPartition } from '../../shared/runtime/rebuild-partition.ts';
import type { RebuildThreads } from '../../shared/runtime/rebuild-threads.ts';
import type { AnyStage } from '../../shared/stage/stage.ts';
import { hasty } from './stage-fleet.ts';

/** Rebuilds of one stage, one after another, in processes that die at random. */
export interface Rebuilds {
  /** Starts a rebuild, or kills the one that runs, at random; to be called before each step. */
  readonly disturb: () => void;
  /** Runs a rebuild to its end, and answers what went wrong with any of them. */
  readonly finish: () => Promise<readonly string[]>;
}

const quietBelow = 0.01;
const maxSteps = 100_000;

/** Prepares rebuilds of a stage without tables. `disturbances` bounds starts and deaths. */
export function startRebuilds(
  simulation: Simulation,
  options: { readonly stage: AnyStage; readonly writes: readonly Topic[]; readonly disturbances: number },
): Rebuilds {
  const { random } = simulation;
  let running: SimulatedProcess | undefined;
  const wrong: string[] = [];
  let completed = 0;
  let left = options.disturbances;

  const rebuild = async (process: SimulatedProcess): Promise<void> => {
    const { bus, store, registry, clock } = process;
    const { stage } = options;
    const codec = await createCodec({ registry, writes: options.writes });
    const settings = stage.config.schema.parse({});
    const surroundings = { stage, settings, bus, store, codec, clock, tables: {}, runtime: hasty };
    // Threads share nothing, so here they are other work of the process, which dies with it.
    const counts = new Map(options.writes.map(({ name }) => [name, simulation.records(name).length]));
    const fold: RebuildThreads['fold'] = async ({ generation, partitions, onStanding }) => {
      const folding = partitions.map((partition) =>
        rebuildPartition({ context: rebuildContext(surroundings, counts), bus, partition, generation }),
      );
      await Promise.all(folding.map((each) => each.catchUp()));
      for (const each of folding) onStanding(each.standing(), each.folded());
    };
    const threads = { ready: Promise.resolve(), fold, close: async () => undefined };
    await rebuildStage({
      ...{ ...surroundings, parallel: 2, graceMs: 200, threads: random.chance(0.5) ? threads : undefined },
      onStep: () => undefined,
    });
  };

  const start = (): SimulatedProcess => {
    const process = simulation.process('rebuild');
    rebuild(process)
      .then(() => {
        completed++;
      })
      // The registry was away: whoever started it starts it again.
      .catch((error: unknown) => {
        if (!isUnavailable(error)) wrong.push(String(error));
      })
      .finally(() => {
        process.kill();
        if (running === process) running = undefined;
      });
    running = process;
    return process;
  };

  return {
    disturb() {
      if (left === 0 || !random.chance(quietBelow)) return;
      left--;
      if (running === undefined) start();
      else {
        running.kill();
        running = undefined;
      }
    },
    async finish() {
      left = 0;
      // One that was running may have lost its last steps with the store: it is the next one that ends them.
      for (const enough = completed + (running === undefined ? 1 : 2); completed < enough; ) {
        if (running === undefined) start();
        const end = await simulation.run({ until: () => running === undefined, steps: maxSteps });
        if (end !== 'until') return [...new Set(wrong), `a rebuild came to no end: ${end}`];
      }
      return wrong;
    },
  };
}

/** What is left of generations that should be gone, or of rebuilds that should be over. */
export function checkGenerations(simulation: Simulation, stage: AnyStage): readonly string[] {
  const topic: string = stage.input.name;
  return simulation.records(topic).flatMap((_, partition) => {
    const at = { stage: stage.name, partition };
    const { inUse, draft, previous } = simulation.generations(at);
    const wrong: string[] = [];
    if (inUse < 2) wrong.push(`${stage.name}/${partition} was never rebuilt`);
    if (draft !== undefined || previous !== undefined)
      wrong.push(`${stage.name}/${partition} has a rebuild unfinished`);
    for (let generation = 1; generation < inUse; generation++) {
      const slot = { ...at, generation };
      if (simulation.position(slot).fence >= 0n || simulation.rows(slot).size > 0) {
        wrong.push(`${stage.name}/${partition} keeps generation ${generation}`);
      }
    }
    return wrong;
  });
}

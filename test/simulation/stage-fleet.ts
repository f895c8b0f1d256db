import type { Topic } from '../../schemas/define.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import type { SimulatedProcess, Simulation } from '../../shared/runtime/memory/simulation.ts';
import { allGuards, type Guards } from '../../shared/runtime/partition-owner.ts';
import { runStage } from '../../shared/runtime/run-stage.ts';
import { type RuntimeSettings, config as runtimeConfig } from '../../shared/runtime/runtime-settings.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import type { CallAnswer, CallRequest } from '../../shared/stage/effects.ts';
import type { AnyStage } from '../../shared/stage/stage.ts';

/** The guards of the scheme, and the rule of one request in flight: a negative control switches one off. */
export interface Rules extends Guards {
  readonly oneInFlight: boolean;
}

/** The scheme whole. */
export const allRules: Rules = { ...allGuards, oneInFlight: true };

/** Settings of the shell under which batches, caches and waits are short, so that everything meets everything. */
export const hasty: RuntimeSettings = {
  ...runtimeConfig.schema.parse({}),
  batchRecords: 3,
  cacheRows: 6,
  commitMs: 40,
  fenceCheckMs: 100,
  tickMs: 25,
  retryMs: 10,
  timerRepeatMs: 200,
};

/** Copies of stages, each in a process of its own that is started again when it dies. */
export interface StageFleet {
  /** Kills, freezes, resumes or lets the store forget, at random; to be called before each step. */
  readonly disturb: () => void;
  /** Kills all processes at once, as a power cut does, and starts others. */
  readonly killAll: () => void;
  /** Ends the disturbance: the frozen go on, the dead have successors. */
  readonly calm: () => void;
}

interface Seat {
  readonly stage: AnyStage;
  process: SimulatedProcess;
}

const quietBelow = 0.012;

/** Starts `copies` of each stage. `disturbances` bounds what goes wrong beyond single operations. */
export function startFleet(
  simulation: Simulation,
  options: {
    readonly stages: readonly AnyStage[];
    readonly copies: number;
    readonly writes: readonly Topic[];
    readonly rules: Rules;
    readonly disturbances: number;
    /** Whether the store may lose writes; it may where nothing is said. */
    readonly forgets?: boolean;
    readonly perform?: (request: CallRequest) => Promise<CallAnswer>;
  },
): StageFleet {
  const { random } = simulation;
  const frozen: SimulatedProcess[] = [];
  let left = options.disturbances;

  const work = async (stage: AnyStage, process: SimulatedProcess): Promise<void> => {
    const { bus, store, registry, clock } = process;
    const codec = await createCodec({ registry, writes: options.writes });
    const sender = createSender({
      bus,
      clock,
      limits: { maxRequestBytes: () => 4_000, retryMs: hasty.retryMs, inFlight: options.rules.oneInFlight ? 1 : 2 },
    });
    const running = await runStage({
      stage,
      settings: stage.config.schema.parse({}),
      bus,
      store,
      codec,
      sender,
      clock,
      runtime: hasty,
      perform: options.perform ?? (async () => ({ headers: {}, body: '', failure: 'none' })),
      log: silentLog,
      observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
      guards: options.rules,
    });
    await running.ended;
  };

  /** Starts a process in a seat; when its stage cannot go on, a supervisor starts the next one. */
  const start = (stage: AnyStage): SimulatedProcess => {
    const process = simulation.process(stage.name);
    work(stage, process).catch(() => {
      process.kill();
      const seat = seats.find((each) => each.process === process);
      if (seat !== undefined) seat.process = start(stage);
    });
    return process;
  };

  const seats: Seat[] = [];
  for (const stage of options.stages) {
    for (let copy = 0; copy < options.copies; copy++) seats.push({ stage, process: start(stage) });
  }

  return {
    disturb() {
      if (left === 0 || !random.chance(quietBelow)) return;
      left--;
      const seat = seats[random.pick(seats.length)];
      if (seat === undefined) return;
      switch (random.pick(8)) {
        case 0:
          if (options.forgets === false) return;
          simulation.forget(random.chance(0.2) ? Number.POSITIVE_INFINITY : 1 + random.pick(6));
          return;
        case 1:
        case 2:
          seat.process.freeze();
          frozen.push(seat.process);
          seat.process = start(seat.stage);
          return;
        case 3:
        case 4:
          frozen.splice(random.pick(frozen.length), 1)[0]?.resume();
          return;
        default:
          seat.process.kill();
          seat.process = start(seat.stage);
      }
    },
    killAll() {
      for (const seat of seats) {
        seat.process.kill();
        seat.process = start(seat.stage);
      }
    },
    calm() {
      left = 0;
      for (const process of frozen.splice(0)) process.resume();
    },
  };
}

import type { Process } from './process.ts';
import type { Random } from './random.ts';

/** A process under the scheduler. */
export interface ScheduledProcess extends Process {
  readonly alive: () => boolean;
  /** Ends the process: none of its steps is answered any more. What it had asked for may still happen, or not. */
  readonly kill: () => void;
  /** Stops the process as SIGSTOP does: the world goes on without it. */
  readonly freeze: () => void;
  /** Lets a frozen process go on; it does not know that it was away. */
  readonly resume: () => void;
}

/** When a run ends. Without any bound it ends when nothing is left to happen. */
export interface RunBounds {
  readonly until?: () => boolean;
  readonly steps?: number;
  /** Ends the run when nothing in the world has changed for so long in virtual time. */
  readonly quietMs?: number;
  /** Called before each step with its number in this run: the place to kill, freeze and forget. */
  readonly before?: (step: number) => void;
}

/** Why a run ended. */
export type RunEnd = 'until' | 'steps' | 'quiet';

/** Runs processes one step at a time, in an order that only the seed decides. Time is virtual. */
export interface Scheduler {
  readonly now: () => number;
  readonly process: (name: string) => ScheduledProcess;
  /** Tells that the world has changed, for `quietMs`. */
  readonly changed: () => void;
  readonly run: (bounds?: RunBounds) => Promise<RunEnd>;
  /** `<ms since the start> <process> <step>`, one for each step; empty unless tracing is on. */
  readonly trace: () => readonly string[];
}

interface Owner {
  readonly name: string;
  state: 'running' | 'frozen' | 'dead';
  parked: Step[];
}

interface Step {
  readonly owner: Owner;
  readonly label: string;
  readonly kind: 'effect' | 'wake' | 'late';
  /** Nobody hears the answer when the owner is dead. */
  readonly perform: () => void;
  dropped: boolean;
}

interface Sleeper {
  readonly due: number;
  readonly step: Step;
}

const startAt = 1_750_000_000_000;
const wakeJitterMs = 200;
const stepsPerLoopTurn = 256;

/** Makes a scheduler. `timeJumps` is the probability that time runs ahead although there is work left. */
export function createScheduler(options: {
  readonly random: Random;
  readonly timeJumps: number;
  readonly trace: boolean;
}): Scheduler {
  const { random, timeJumps } = options;
  const trace: string[] = [];
  const ready: Step[] = [];
  const sleepers: Sleeper[] = [];
  let now = startAt;
  let changedAt = startAt;

  const enqueue = (step: Step): void => {
    if (step.dropped || (step.owner.state === 'dead' && step.kind !== 'late')) return;
    if (step.owner.state === 'frozen' && step.kind !== 'late') step.owner.parked.push(step);
    else ready.push(step);
  };

  /** Sleepers lie in the order of their due times; of equal ones the first to come is the first to wake. */
  const sleep = (due: number, step: Step): void => {
    let index = sleepers.length;
    while (index > 0 && (sleepers[index - 1]?.due ?? 0) > due) index--;
    sleepers.splice(index, 0, { due, step });
  };

  const wakeDue = (): void => {
    let due = 0;
    while ((sleepers[due]?.due ?? Number.POSITIVE_INFINITY) <= now) due++;
    for (const { step } of sleepers.splice(0, due)) enqueue(step);
  };

  const takeStepsOf = (owner: Owner): Step[] => {
    const mine = ready.filter((step) => step.owner === owner && step.kind !== 'late');
    const others = ready.filter((step) => step.owner !== owner || step.kind === 'late');
    ready.splice(0, ready.length, ...others);
    return mine;
  };

  const takeNext = (): Step | undefined => {
    if (random.chance(0.25)) now += 1 + random.pick(3);
    if (sleepers[0] !== undefined && random.chance(timeJumps)) now = Math.max(now, sleepers[0].due);
    wakeDue();
    const index = random.pick(ready.length);
    const step = ready[index];
    const last = ready.pop();
    if (last !== undefined && index < ready.length) ready[index] = last;
    return step;
  };

  const createProcess = (name: string): ScheduledProcess => {
    const owner: Owner = { name, state: 'running', parked: [] };
    const stepOf = (label: string, kind: Step['kind'], perform: () => void): Step => ({
      owner,
      label,
      kind,
      perform,
      dropped: false,
    });
    return {
      name,
      random,
      clock: {
        now: () => now,
        sleep: (ms, signal) =>
          new Promise((resolve) => {
            if (signal?.aborted === true) return resolve();
            const awake = (): void => {
              step.dropped = true;
              signal?.removeEventListener('abort', awake);
              if (owner.state !== 'dead') resolve();
            };
            const step = stepOf('wake', 'wake', awake);
            signal?.addEventListener('abort', awake, { once: true });
            sleep(now + Math.max(0, ms), step);
          }),
      },
      step: (label, effect) =>
        new Promise((resolve, reject) => {
          const perform = (): void => {
            try {
              const value = effect();
              if (owner.state !== 'dead') resolve(value);
            } catch (error) {
              if (owner.state !== 'dead') reject(error);
            }
          };
          enqueue(stepOf(label, 'effect', perform));
        }),
      later: (ms, label, effect) => sleep(now + ms, stepOf(label, 'late', effect)),
      alive: () => owner.state !== 'dead',
      kill() {
        const asked = [...takeStepsOf(owner), ...owner.parked.splice(0)];
        owner.state = 'dead';
        // A request may be on its way when its sender dies.
        ready.push(...asked.filter((step) => step.kind === 'effect' && random.chance(0.5)));
      },
      freeze() {
        if (owner.state !== 'running') return;
        owner.state = 'frozen';
        owner.parked = takeStepsOf(owner);
      },
      resume() {
        if (owner.state !== 'frozen') return;
        owner.state = 'running';
        for (const step of owner.parked.splice(0)) {
          // What was due meanwhile, heartbeats above all, may come after other things that a zombie does.
          if (step.kind === 'wake') sleep(now + random.pick(wakeJitterMs), step);
          else enqueue(step);
        }
      },
    };
  };

  const run = async ({ until, steps, quietMs, before }: RunBounds = {}): Promise<RunEnd> => {
    changedAt = now;
    let taken = 0;
    for (let turn = 1; ; turn++) {
      await (turn % stepsPerLoopTurn === 0 ? loopTurn() : microtasks());
      if (until?.() === true) return 'until';
      if (taken === steps) return 'steps';
      if (quietMs !== undefined && now - changedAt >= quietMs) return 'quiet';
      if (ready.length === 0) {
        const next = sleepers[0];
        if (next === undefined) return 'quiet';
        now = Math.max(now, next.due);
        wakeDue();
        continue;
      }
      before?.(taken);
      const step = takeNext();
      if (step === undefined || step.dropped) continue;
      taken++;
      if (options.trace) trace.push(`${now - startAt} ${step.owner.name} ${step.label}`);
      step.perform();
    }
  };

  return {
    now: () => now,
    process: createProcess,
    changed: () => {
      changedAt = now;
    },
    run,
    trace: () => trace,
  };
}

/** Resolves when all microtasks have run that are queued now, and those that they queue: a tick follows them all. */
const microtasks = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** Lets the event loop turn, so that a long run does not starve timers and sockets around it. */
const loopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

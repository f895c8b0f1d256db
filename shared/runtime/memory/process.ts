import { type Clock, systemClock } from '../clock.ts';
import { noChance, type Random } from './random.ts';

/** A process as the twin sees it: whatever its ports do to the world is a step, and its waiting goes through its clock. */
export interface Process {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Performs an effect on the world when its turn has come, and answers what the effect gave or threw. */
  readonly step: <T>(label: string, effect: () => T) => Promise<T>;
  /** Performs an effect after a while, whatever becomes of the process. */
  readonly later: (ms: number, label: string, effect: () => void) => void;
}

/** The process that runs this code: steps happen at once, time is real and nothing goes wrong. */
export const thisProcess: Process = {
  name: 'this process',
  clock: systemClock,
  random: noChance,
  step: async (_, effect) => effect(),
  later: (ms, _, effect) => void systemClock.sleep(ms).then(effect),
};

/** A wait that is over once somebody opens the gate. Opening it before anybody waits is remembered. */
export interface Gate {
  readonly open: () => void;
  readonly passed: () => Promise<void>;
}

/** Makes a closed gate. It closes again behind whoever passed. */
export function createGate(): Gate {
  let isOpen = false;
  let pass: (() => void) | undefined;
  return {
    open() {
      if (pass === undefined) isOpen = true;
      else pass();
      pass = undefined;
    },
    passed() {
      if (isOpen) {
        isOpen = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        pass = resolve;
      });
    },
  };
}

import type { Faults } from './faults.ts';
import { createMemoryGroups, type MemoryGroups } from './memory-groups.ts';
import { createMemoryLog, type MemoryLog } from './memory-log.ts';

/** The broker of the twin: what all its clients share. */
export interface MemoryBroker {
  readonly log: MemoryLog;
  readonly groups: MemoryGroups;
  readonly settings: BrokerSettings;
}

/** How the broker and its clients behave. */
export interface BrokerSettings {
  readonly faults: Faults;
  /** The most records of a batch; how many one has is left to chance. */
  readonly maxBatch: number;
  readonly heartbeatMs: number;
  readonly sessionMs: number;
}

/** Makes a broker without topics. */
export function createMemoryBroker(
  world: { readonly now: () => number; readonly changed: () => void },
  settings: BrokerSettings,
): MemoryBroker {
  const log = createMemoryLog(world);
  const groups = createMemoryGroups({
    ...world,
    sessionMs: settings.sessionMs,
    partitionsOf: (topic) => log.bounds(topic)?.length ?? 0,
  });
  return { log, groups, settings };
}

import type { Slot, SlotChanges, SlotPosition, Store, StoredTimer, TimerWrite, Watermark } from '../store.ts';
import { attempt, type Faults } from './faults.ts';
import type { Process } from './process.ts';

interface Row {
  readonly json: string;
  readonly expiresAt: number;
}

interface SlotState {
  fence: bigint;
  at: number;
  readonly watermarks: Map<string, Watermark>;
  readonly rows: Map<string, Row>;
  readonly timers: Map<string, StoredTimer>;
}

/** The state of all slots, which all processes share. */
export interface MemoryStoreState {
  readonly slot: (slot: Slot) => SlotState;
  /** Writes one batch of changes. */
  readonly write: (slot: Slot, changes: SlotChanges) => void;
  readonly row: (slot: Slot, row: string) => string | undefined;
  /** Goes back to where the whole store was so many saves ago. */
  readonly forget: (saves: number) => void;
}

/** Makes an empty store. Only with `history` can it forget. */
export function createMemoryStoreState(options: {
  readonly now: () => number;
  readonly changed: () => void;
  readonly history: boolean;
}): MemoryStoreState {
  const slots = new Map<string, SlotState>();
  const undos: (() => void)[] = [];

  const slotOf = ({ stage, partition, generation }: Slot): SlotState => {
    const id = `${generation}:${stage}:${partition}`;
    const known = slots.get(id);
    if (known !== undefined) return known;
    const empty: SlotState = { fence: -1n, at: 0, watermarks: new Map(), rows: new Map(), timers: new Map() };
    slots.set(id, empty);
    return empty;
  };

  return {
    slot: slotOf,
    write(slot, { fence, at, watermarks, rows, timers }) {
      const state = slotOf(slot);
      const old = { fence: state.fence, at: state.at };
      const now = options.now();
      const undo = [
        ...[...watermarks].map(([source, watermark]) => change(state.watermarks, source, watermark)),
        ...rows.map(({ row, json, lifetimeMs }) => {
          const expiresAt = lifetimeMs === undefined ? Number.POSITIVE_INFINITY : now + lifetimeMs;
          return change(state.rows, row, json === undefined ? undefined : { json, expiresAt });
        }),
        ...timers.map((timer) => change(state.timers, ...timerEntry(timer))),
      ];
      state.fence = fence;
      state.at = at;
      options.changed();
      if (!options.history) return;
      undos.push(() => {
        for (const back of undo.reverse()) back();
        Object.assign(state, old);
      });
    },
    row(slot, row) {
      const found = slotOf(slot).rows.get(row);
      return found === undefined || found.expiresAt <= options.now() ? undefined : found.json;
    },
    forget(saves) {
      for (let left = saves; left > 0; left--) {
        const undo = undos.pop();
        if (undo === undefined) break;
        undo();
      }
      options.changed();
    },
  };
}

const timerEntry = (timer: TimerWrite): [string, StoredTimer | undefined] =>
  'set' in timer ? [timer.set.key, timer.set] : [timer.clear, undefined];

/** Sets or removes an entry, and gives what takes that back. */
function change<V>(entries: Map<string, V>, key: string, value: V | undefined): () => void {
  const old = entries.get(key);
  const write = (entry: V | undefined): void => {
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
  };
  write(value);
  return () => write(old);
}

/** The store as one process has it. */
export function createMemoryStore(state: MemoryStoreState, process: Process, faults: Faults): Store {
  const ask = <T>(label: string, effect: () => T): Promise<T> => attempt(process, faults.storeFails, label, effect);
  const named = (verb: string, { stage, partition }: Slot): string => `${verb} ${stage}/${partition}`;

  return {
    check: () => ask('check', () => undefined),
    // Nothing in memory outlives a rebuild, so there is never a second generation.
    generation: (stage) => ask(`generation ${stage}`, () => 1),
    open: (slot) => ask(named('open', slot), () => positionOf(state.slot(slot))),
    fence: (slot) => ask(named('fence', slot), () => state.slot(slot).fence),
    load: (slot, rows) => ask(named('load', slot), () => rows.map((row) => state.row(slot, row))),
    view: (slot, { rows, timers }) =>
      ask(named('view', slot), () => ({
        fence: state.slot(slot).fence,
        rows: rows.map((row) => state.row(slot, row)),
        timers: timers.map((key) => state.slot(slot).timers.get(key)),
      })),
    save: (slot, expected, changes) =>
      ask(`${named('save', slot)} ${expected}->${changes.fence}`, () => {
        const { fence } = state.slot(slot);
        if (fence < expected) return { type: 'behind', fence };
        if (fence > expected) return { type: 'ahead', fence };
        state.write(slot, changes);
        return { type: 'saved' };
      }),
    due: (slot, at, limit) =>
      ask(named('due', slot), () =>
        [...state.slot(slot).timers.values()]
          .filter((timer) => timer.dueAt <= at)
          .toSorted((a, b) => a.dueAt - b.dueAt || (a.key < b.key ? -1 : 1))
          .slice(0, limit),
      ),
    close: () => Promise.resolve(),
  };
}

/** Where a slot stands, as a copy. */
export const positionOf = ({ fence, at, watermarks }: SlotState): SlotPosition => ({
  fence,
  at,
  watermarks: new Map(watermarks),
});

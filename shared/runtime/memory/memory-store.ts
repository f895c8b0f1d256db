import type {
  GenerationStep,
  Generations,
  Slot,
  SlotChanges,
  SlotPosition,
  StatePartition,
  Store,
  StoredTimer,
  TimerWrite,
  Watermark,
} from '../store.ts';
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
  /** Takes a step of a rebuild, where it applies, and answers the generations. */
  readonly generations: (at: StatePartition, step?: GenerationStep) => Generations;
  /** Removes the generations that nobody uses, and answers how much they held. */
  readonly discard: (at: StatePartition) => number;
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
  const allGenerations = new Map<string, Generations>();
  const undos: (() => void)[] = [];

  const idOf = ({ stage, partition, generation }: Slot): string => `${generation}:${stage}:${partition}`;

  const slotOf = (slot: Slot): SlotState => {
    const id = idOf(slot);
    const known = slots.get(id);
    if (known !== undefined) return known;
    const empty: SlotState = { fence: -1n, at: 0, watermarks: new Map(), rows: new Map(), timers: new Map() };
    slots.set(id, empty);
    return empty;
  };

  const generationsOf = ({ stage, partition }: StatePartition): Generations =>
    allGenerations.get(`${stage}:${partition}`) ?? { inUse: 1, draft: undefined, previous: undefined, newest: 1 };

  const wrote = (undo: () => void): void => {
    options.changed();
    if (options.history) undos.push(undo);
  };

  return {
    slot: slotOf,
    generations(at, step) {
      const now = generationsOf(at);
      const fenceOf = (generation: number): bigint => slotOf({ ...at, generation }).fence;
      const next = step && after(now, step, fenceOf);
      if (next === undefined) return now;
      wrote(change(allGenerations, `${at.stage}:${at.partition}`, next));
      return next;
    },
    discard(at) {
      const { inUse, draft, previous, newest } = generationsOf(at);
      let removed = 0;
      for (let generation = 1; generation <= newest; generation++) {
        const id = idOf({ ...at, generation });
        const slot = slots.get(id);
        if (slot === undefined || [inUse, draft, previous?.generation].includes(generation)) continue;
        removed += slot.rows.size + slot.timers.size;
        wrote(change(slots, id, undefined));
      }
      return removed;
    },
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
      wrote(() => {
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

/** The generations after a step; undefined where it does not apply. */
function after(
  now: Generations,
  step: GenerationStep,
  fenceOf: (generation: number) => bigint,
): Generations | undefined {
  switch (step.do) {
    case 'begin':
      if (now.draft !== undefined || now.previous !== undefined || step.generation <= now.newest) return undefined;
      return { ...now, draft: step.generation, newest: step.generation };
    case 'adopt':
      if (now.draft !== step.generation) return undefined;
      return {
        ...now,
        inUse: step.generation,
        draft: undefined,
        previous: { generation: now.inUse, fence: fenceOf(now.inUse) },
      };
    case 'abandon':
      return now.draft === step.generation ? { ...now, draft: undefined } : undefined;
    case 'conclude':
      if (now.previous === undefined || fenceOf(now.inUse) < now.previous.fence) return undefined;
      return { ...now, previous: undefined };
  }
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
  const named = (verb: string, { stage, partition }: StatePartition): string => `${verb} ${stage}/${partition}`;
  const isRetired = (slot: Slot): boolean => {
    const { inUse, draft } = state.generations(slot);
    return slot.generation !== (slot.draft === true ? draft : inUse);
  };

  return {
    check: () => ask('check', () => undefined),
    inspect: () =>
      ask('inspect', () => ({
        version: '7.0.0',
        evictionPolicy: 'noeviction',
        appendOnly: true,
        appendsWell: true,
        usedBytes: 0,
        maxBytes: 0,
        at: process.clock.now(),
      })),
    generations: (at, step) => ask(named(`generations ${step?.do ?? ''}`, at), () => state.generations(at, step)),
    async discard({ stage, partitions }) {
      let removed = 0;
      for (let partition = 0; partition < partitions; partition++) {
        const at = { stage, partition };
        removed += await ask(named('discard', at), () => state.discard(at));
      }
      return removed;
    },
    open: (slot) => ask(named('open', slot), () => positionOf(state.slot(slot))),
    fence: (slot) => ask(named('fence', slot), () => (isRetired(slot) ? undefined : state.slot(slot).fence)),
    load: (at, rows) =>
      ask(named('load', at), () => {
        const { inUse, previous } = state.generations(at);
        const isThere = previous === undefined || state.slot({ ...at, generation: inUse }).fence >= previous.fence;
        const slot = { ...at, generation: isThere ? inUse : previous.generation };
        return rows.map((row) => state.row(slot, row));
      }),
    view: (slot, { rows, timers }) =>
      ask(named('view', slot), () => ({
        fence: state.slot(slot).fence,
        rows: rows.map((row) => state.row(slot, row)),
        timers: timers.map((key) => state.slot(slot).timers.get(key)),
      })),
    save: (slot, expected, changes) =>
      ask(`${named('save', slot)} ${expected}->${changes.fence}`, () => {
        if (isRetired(slot)) return { type: 'retired' };
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

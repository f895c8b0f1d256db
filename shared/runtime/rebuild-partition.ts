import { BusError } from '../errors.ts';
import type { AnyStage } from '../stage/stage.ts';
import type { Bus, IncomingRecord } from './bus.ts';
import type { Clock } from './clock.ts';
import type { Codec } from './codec.ts';
import { inReach } from './in-reach.ts';
import { allGuards, type OpenPartition, openPartition, type PartitionContext } from './partition-owner.ts';
import type { RuntimeSettings } from './runtime-settings.ts';
import type { Slot, StatePartition, Store } from './store.ts';

/** What a stage is folded with, and on. */
export interface RebuildSurroundings {
  readonly stage: AnyStage;
  readonly settings: unknown;
  readonly tables: Readonly<Record<string, unknown>>;
  readonly bus: Bus;
  readonly store: Store;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly runtime: RuntimeSettings;
}

/** What the partitions of a rebuild share: the work of an owner that sends nothing and calls nobody. */
export const rebuildContext = (
  { stage, settings, tables, store, codec, clock, runtime }: RebuildSurroundings,
  counts: ReadonlyMap<string, number>,
): PartitionContext => ({
  ...{ stage, settings, tables, store, codec, clock },
  // A record that was rejected is rejected again: that stops nobody.
  runtime: { ...runtime, rejectsInARow: 0 },
  sender: { send: async () => undefined, pending: () => 0, stop: () => undefined },
  partitionsOf: (topic) => counts.get(topic) ?? 0,
  guards: allGuards,
  onFolded: () => undefined,
  onCalls: async () => undefined,
});

/** Where the rebuild of a partition stands: offsets of its input topic. `next` is folded up to, `goal` is to be reached. */
export interface RebuildStanding {
  readonly partition: number;
  readonly start: bigint;
  readonly next: bigint;
  readonly goal: bigint;
}

/** One partition of a rebuild. */
export interface RebuildPartition {
  readonly standing: () => RebuildStanding;
  /** Begins, or finds out where it stands. */
  readonly prepare: () => Promise<void>;
  /**
   * Folds up to where the live state stands, as asked at the start; once the rebuilt state is in use, up to where the one
   * before it ended. Throws `rebuild-abandoned`, `offset-gap`.
   */
  readonly catchUp: () => Promise<void>;
  /** The records that were folded here. */
  readonly folded: () => number;
  /** Puts the rebuilt state in use. */
  readonly adopt: () => Promise<void>;
  /** Has readers leave the state before; answers whether they have, else there is more to catch up with. */
  readonly conclude: () => Promise<boolean>;
}

/** Everything is folded silently: it was emitted when it was decided on first. */
const neverLive = 2n ** 63n - 1n;
/** More than one answer of the log holds of records that are not tiny: what was fetched is not fetched again. */
const readRecords = 10_000;

/** What a step of a rebuild is to do: fold into a slot up to an offset; or nothing is left to do. */
type Task = { readonly slot: Slot; readonly goal: bigint } | 'done';

/** Makes the rebuild of one partition into a generation. It can be made again at any time: the state says where it stands. */
export function rebuildPartition(options: {
  readonly context: PartitionContext;
  readonly bus: Bus;
  readonly partition: number;
  readonly generation: number;
}): RebuildPartition {
  const { context, bus, partition, generation } = options;
  const { store, clock, runtime } = context;
  const topic: string = context.stage.input.name;
  const at: StatePartition = { stage: context.stage.name, partition };
  const wait = <T>(ask: () => Promise<T>): Promise<T> => inReach(ask, { clock, retryMs: runtime.retryMs });
  let open: { readonly slot: Slot; readonly state: OpenPartition } | undefined;
  let folded = 0;
  let standing: RebuildStanding = { partition, start: 0n, next: 0n, goal: -1n };

  const task = async (): Promise<Task> => {
    for (;;) {
      const { inUse, draft, previous, newest } = await wait(() => store.generations(at, { do: 'conclude' }));
      // The rebuild before this one comes to its end first, should the store have lost that.
      if (previous !== undefined) return { slot: { ...at, generation: inUse }, goal: previous.fence };
      if (inUse >= generation) return 'done';
      if (draft === generation) {
        const goal = await wait(() => store.fence({ ...at, generation: inUse }));
        if (goal !== undefined) return { slot: { ...at, generation, draft: true }, goal };
      } else if (draft !== undefined && draft < generation) {
        // Left by a rebuild that was abandoned elsewhere, or that the store forgot in part.
        await wait(() => store.generations(at, { do: 'abandon', generation: draft }));
      } else if (draft === undefined && newest < generation) {
        // Not begun yet; or the store lost it, together with all that was folded.
        await wait(() => store.generations(at, { do: 'begin', generation }));
      } else throw new BusError('rebuild-abandoned', { ...at, generation });
    }
  };

  const bounds = async () => {
    const found = (await wait(() => bus.offsets(topic)))?.[partition];
    if (found === undefined) throw new BusError('topic-missing', { topic });
    return found;
  };

  const opened = async (slot: Slot): Promise<OpenPartition> => {
    if (open?.slot.draft === slot.draft && open?.slot.generation === slot.generation) return open.state;
    const { start } = await bounds();
    const state = await openPartition(context, slot, { committed: neverLive, start });
    open = { slot, state };
    standing = { ...standing, start };
    return state;
  };

  const read = (offset: bigint): Promise<readonly IncomingRecord[]> =>
    wait(() => bus.read({ topic, partition, offset, limit: readRecords, atOnce: true }));

  /** Folds up to an offset; false when the state has to be opened again. */
  const foldTo = async (goal: bigint, state: OpenPartition): Promise<boolean> => {
    let reading = state.next() <= goal ? read(state.next()) : undefined;
    while (reading !== undefined) {
      const records = await reading;
      const last = records.at(-1)?.offset;
      if (last === undefined) {
        const { end } = await bounds();
        // The state stands behind the end of the log: it is of another log.
        if (end <= goal) throw new BusError('offset-gap', { topic, partition, needed: String(goal), end: String(end) });
        await clock.sleep(runtime.retryMs);
        reading = read(state.next());
        continue;
      }
      // Read while what was read before is folded.
      reading = last < goal ? read(last + 1n) : undefined;
      reading?.catch(() => undefined);
      const wanted = records.filter(({ offset }) => offset <= goal);
      if ((await state.handle(wanted)) === 'reopen') return false;
      folded += wanted.length;
      standing = { ...standing, next: state.next(), goal };
    }
    return true;
  };

  /** The state to fold into and the offset to fold to; undefined when nothing is left to do. */
  const prepare = async () => {
    const next = await task();
    if (next === 'done') return undefined;
    const state = await opened(next.slot);
    standing = { ...standing, next: state.next(), goal: next.goal };
    return { state, goal: next.goal };
  };

  const adopt = async (): Promise<void> => {
    await wait(() => store.generations(at, { do: 'adopt', generation }));
  };

  return {
    standing: () => standing,
    folded: () => folded,
    adopt,
    async prepare() {
      await prepare();
    },

    async catchUp() {
      for (;;) {
        const next = await prepare();
        if (next === undefined || (await foldTo(next.goal, next.state))) return;
        open = undefined;
      }
    },

    async conclude() {
      const { inUse, previous } = await wait(() => store.generations(at, { do: 'conclude' }));
      if (previous === undefined) {
        if (inUse >= generation) return true;
        // The store lost the switch.
        await adopt();
        return false;
      }
      const slot = { ...at, generation: inUse };
      const { start } = await bounds();
      // Nothing is kept of what lies before that fence: the state is that of an empty stretch.
      if (start > previous.fence && (await wait(() => store.fence(slot))) === -1n) {
        const nothing = { watermarks: new Map(), rows: [], timers: [] };
        await wait(() => store.save(slot, -1n, { fence: start - 1n, at: 0, ...nothing }));
      }
      return false;
    },
  };
}

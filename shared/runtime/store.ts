/** One partition of one stage, whatever the generation of its state. */
export interface StatePartition {
  readonly stage: string;
  readonly partition: number;
}

/** The state of one stage in one partition, under one generation. `draft`: a rebuild writes it beside the one in use. */
export interface Slot extends StatePartition {
  readonly generation: number;
  readonly draft?: true;
}

/** The generations of a partition's state. */
export interface Generations {
  /** The one that owners write; 1 at first. */
  readonly inUse: number;
  /** The one that a rebuild writes beside it. */
  readonly draft: number | undefined;
  /** The one that was in use before. It is still what readers read, until the one in use has reached its last fence. */
  readonly previous: { readonly generation: number; readonly fence: bigint } | undefined;
  /** The highest number that was ever given; none is given twice. */
  readonly newest: number;
}

/**
 * A step of a rebuild, each of which happens at once or, where it does not apply, not at all. `begin` opens a draft where
 * there is none and nothing is left of the rebuild before; `adopt` puts the draft in use, and from then on nothing is
 * saved to the generation before; `abandon` forgets the draft; `conclude` forgets the generation before, once readers
 * have left it.
 */
export type GenerationStep =
  | { readonly do: 'begin' | 'adopt' | 'abandon'; readonly generation: number }
  | { readonly do: 'conclude' };

/** The highest offset of a source partition that was applied, and the effects seen at that offset. */
export interface Watermark {
  readonly offset: bigint;
  readonly effects: readonly string[];
}

/** Where a partition's state stands. `fence` is the last applied offset, -1 when nothing was; `at` its message time. */
export interface SlotPosition {
  readonly fence: bigint;
  readonly at: number;
  /** By source: `<topic>/<partition>`. */
  readonly watermarks: ReadonlyMap<string, Watermark>;
}

/** A row to write. `lifetimeMs` counts from the write: longer than its message-time life, never shorter. */
export interface RowWrite {
  /** `<projection>:<key>` */
  readonly row: string;
  /** Undefined removes the row. */
  readonly json: string | undefined;
  readonly lifetimeMs?: number;
}

/** A pending timer. `id` is that of the effect that set it. `json` is the value of the record to send. */
export interface StoredTimer {
  readonly key: string;
  readonly id: string;
  readonly dueAt: number;
  readonly json: string;
}

/** A change of the timers: set one, or take one away. */
export type TimerWrite = { readonly set: StoredTimer } | { readonly clear: string };

/** What one batch changes, written at once or not at all. */
export interface SlotChanges {
  readonly fence: bigint;
  readonly at: number;
  /** Only those that changed. */
  readonly watermarks: ReadonlyMap<string, Watermark>;
  readonly rows: readonly RowWrite[];
  readonly timers: readonly TimerWrite[];
}

/**
 * Saved; or the fence is not where the writer thought: lower (the store lost writes) or higher (another owner was here); or
 * the generation is not the one in use any more (for a draft: not the draft).
 */
export type SaveResult =
  | { readonly type: 'retired' }
  | { readonly type: 'saved' }
  | { readonly type: 'behind'; readonly fence: bigint }
  | { readonly type: 'ahead'; readonly fence: bigint };

/** What a batch reads. Only under the fence that the reader knows is it the state that comes before its batch. */
export interface SlotView {
  readonly fence: bigint;
  readonly rows: readonly (string | undefined)[];
  readonly timers: readonly (StoredTimer | undefined)[];
}

/** What a store says of itself. */
export interface StoreInspection {
  readonly version: string;
  /** What it does when its memory is full: `noeviction` keeps everything. */
  readonly evictionPolicy: string;
  /** Whether writes are kept through a restart, and whether the last of them were. */
  readonly appendOnly: boolean;
  readonly appendsWell: boolean;
  readonly usedBytes: number;
  /** 0 for no limit. */
  readonly maxBytes: number;
  /** Its clock, epoch milliseconds. */
  readonly at: number;
}

/** The state of stages, as narrow as the shell needs it. Failures are `BusError('infrastructure-unavailable')`. */
export interface Store {
  /** Throws `redis-may-evict` where the store could forget by itself. */
  readonly check: () => Promise<void>;
  /** For a person who looks; no stage asks this. */
  readonly inspect: () => Promise<StoreInspection>;
  /** The generations of a partition, after the step that is asked for. */
  readonly generations: (at: StatePartition, step?: GenerationStep) => Promise<Generations>;
  /**
   * Removes the generations of a stage that are neither in use nor a draft nor still read, in bounded portions, and answers
   * how many keys that were.
   */
  readonly discard: (state: { readonly stage: string; readonly partitions: number }) => Promise<number>;
  readonly open: (slot: Slot) => Promise<SlotPosition>;
  /** The fence; undefined where the generation is retired, as a save would be told. */
  readonly fence: (slot: Slot) => Promise<bigint | undefined>;
  /** The rows in the order of their names, for readers that decide nothing: of the generation that they should see now. */
  readonly load: (at: StatePartition, rows: readonly string[]) => Promise<readonly (string | undefined)[]>;
  /** Rows and pending timers, in order, as of the one moment at which the fence was there. */
  readonly view: (
    slot: Slot,
    wanted: { readonly rows: readonly string[]; readonly timers: readonly string[] },
  ) => Promise<SlotView>;
  /** Compares generation and fence and writes, in one step. */
  readonly save: (slot: Slot, expected: bigint, changes: SlotChanges) => Promise<SaveResult>;
  /** Timers due at or before an instant, earliest first. */
  readonly due: (slot: Slot, at: number, limit: number) => Promise<readonly StoredTimer[]>;
  readonly close: () => Promise<void>;
}

/** The name of a row. */
export const rowOf = (projection: string, key: string): string => `${projection}:${key}`;

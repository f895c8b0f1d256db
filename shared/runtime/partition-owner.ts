import { BusError } from '../errors.ts';
import type { AnyStage, Reads } from '../stage/stage.ts';
import { callRow, type PendingCall, type Row } from './apply-effects.ts';
import type { IncomingRecord } from './bus.ts';
import { type Breaker, watchRejects } from './circuit-breaker.ts';
import type { Clock } from './clock.ts';
import type { Codec, Decoded } from './codec.ts';
import { Fault, type Folded, type FoldedRecord, type FoldInput, foldRecords } from './fold.ts';
import { formatHeader, parseHeader } from './header.ts';
import { inReach } from './in-reach.ts';
import { createRowCache, createRowFilter } from './row-cache.ts';
import type { RuntimeSettings } from './runtime-settings.ts';
import { recordBytes, type Sender } from './sender.ts';
import { rowOf, type Slot, type SlotPosition, type SlotView, type Store } from './store.ts';
import type { StageTracing } from './tracing/tracing.ts';

/** Parts of the scheme that a test switches off, one at a time, to show that it turns red without them. */
export interface Guards {
  readonly fence: boolean;
  readonly watermarks: boolean;
  /** A timer that fired counts while it is the pending one of its key, and else is a repeat. */
  readonly timers: boolean;
}

/** The scheme whole. */
export const allGuards: Guards = { fence: true, watermarks: true, timers: true };

/** A timer that was sent and not seen yet: when it is sent again, and how long that waited. */
interface Fired {
  readonly againAt: number;
  readonly waitMs: number;
}

/** What an open partition needs of the process around it. */
export interface PartitionContext {
  readonly stage: AnyStage;
  readonly settings: unknown;
  readonly tables: Readonly<Record<string, unknown>>;
  readonly store: Store;
  readonly codec: Codec;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly runtime: RuntimeSettings;
  readonly partitionsOf: (topic: string) => number;
  readonly guards: Guards;
  /** Absent while tracing is off. */
  readonly tracing?: StageTracing | undefined;
  readonly onFolded: (records: readonly FoldedRecord[]) => void;
  /** Calls whose batch is saved: the process commits at once, and then makes them. */
  readonly onCalls: (partition: number, calls: readonly PendingCall[]) => Promise<void>;
}

/** Handled; or the state must be read again: the store lost writes, or another owner was here. */
export type Handled = 'handled' | 'reopen';

/** One assigned partition with its state, from the assignment to its end. */
export interface OpenPartition {
  /** The offset to read next. */
  readonly next: () => bigint;
  /** The offset that may be committed: everything before it is saved. */
  readonly committable: () => bigint;
  readonly handle: (records: readonly IncomingRecord[]) => Promise<Handled>;
  /** Sends the timers that are due, unless lost state is being folded again. */
  readonly fireTimers: () => Promise<void>;
  /** Compares the fence in the store with the one that was last written here. */
  readonly checkFence: () => Promise<Handled>;
  readonly idleSince: () => number;
  /** Its state was lost whole and cannot be folded whole again: some of its records have left the topic since. */
  readonly isTruncated: boolean;
  /** Messages rejected in a row for a fault of ours. */
  readonly rejectsInARow: () => number;
  /** Running work ends after the records that are in hand; the rest of the batch stays in the log. */
  readonly finish: () => void;
  /** Running work stops at its next step. */
  readonly close: () => void;
}

/**
 * Reads the state of a partition and answers its owner. Waits while the store is away. Throws `offset-gap`; `handle` throws
 * `too-many-rejects`.
 */
export async function openPartition(
  context: PartitionContext,
  slot: Slot,
  log: { readonly committed: bigint; readonly start: bigint },
): Promise<OpenPartition> {
  const { stage, store, codec, sender, clock, runtime, tracing } = context;
  const traceparentOf = tracing?.traceparentOf(slot.partition);
  const closed = new AbortController();

  /** Runs a step again until what it needs is in reach. */
  const waiting = <T>(step: () => Promise<T>): Promise<T> =>
    inReach(step, { clock, retryMs: runtime.retryMs, stop: closed.signal });

  let position: SlotPosition = await waiting(() => store.open(slot));
  const isKept = position.fence >= 0n;
  // Where the store lost the state whole, the group still knows what was handled: the rest must be there.
  const needed = isKept ? position.fence + 1n : log.committed;
  if (needed > 0n && needed < log.start) {
    throw new BusError('offset-gap', {
      topic: stage.input.name,
      partition: slot.partition,
      needed: String(needed),
      kept: String(log.start),
    });
  }
  let next = isKept ? needed : log.start;
  const isTruncated = !isKept && log.start > 0n && log.committed > log.start;
  let breaker: Breaker = { type: 'closed', inARow: 0 };
  let idleSince = clock.now();
  let finishing = false;
  let isSaving = false;
  const cache = createRowCache(runtime.cacheRows);
  // A draft holds what was saved from here on, and nothing else: a row that was not is absent, and need not be asked for.
  const saved = slot.draft === true && !isKept ? createRowFilter() : undefined;
  const fired = new Map<string, Fired>();
  let earliest =
    (await waiting(() => store.due(slot, Number.MAX_SAFE_INTEGER, 1)))[0]?.dueAt ?? Number.POSITIVE_INFINITY;

  const decodeRow = (json: string): Row => {
    // Rows are written by this shell alone, in this one form.
    const { v, x } = JSON.parse(json) as { v: unknown; x?: number };
    return x === undefined ? { value: v } : { value: v, expireAt: x };
  };

  const readsOf = (decoded: Decoded<unknown>): Reads | Fault => {
    if (decoded.type !== 'value') return {};
    try {
      return stage.reads(decoded.value);
    } catch (error) {
      return new Fault(error);
    }
  };

  /** A value whose schema had to be looked up. */
  const decodedLater = async (first: Promise<Decoded<unknown>>, value: Buffer | null): Promise<Decoded<unknown>> => {
    let decoding: Promise<Decoded<unknown>> | undefined = first;
    return waiting(async () => {
      const attempt = decoding ?? codec.decode(stage.input, value);
      decoding = undefined;
      return attempt;
    });
  };

  /** Rows and timers as they were at the position; undefined when the store has moved on, or back. */
  const view = async (rows: readonly string[], timers: readonly string[]): Promise<SlotView | undefined> => {
    if (rows.length === 0 && timers.length === 0) return { fence: position.fence, rows: [], timers: [] };
    const found = await waiting(() => store.view(slot, { rows, timers }));
    // Rows that another owner has moved on would be decided on twice, and what comes of that would be sent before the save fails.
    return found.fence === position.fence || !context.guards.fence ? found : undefined;
  };

  /** Decodes records and loads what they read; undefined when the stored state is not the one of the position. */
  const prepare = async (
    records: readonly IncomingRecord[],
  ): Promise<{ readonly inputs: readonly FoldInput[]; readonly present: ReadonlyMap<string, Row> } | undefined> => {
    const inputs: FoldInput[] = [];
    const rows = new Set<string>();
    const keys = new Set<string>();
    for (const record of records) {
      const header = parseHeader(record.header);
      const decoding = codec.decode(stage.input, record.value);
      const value = decoding instanceof Promise ? await decodedLater(decoding, record.value) : decoding;
      const reads = readsOf(value);
      inputs.push({ record, header, decoded: value, reads, timer: undefined });
      if (header?.timer !== undefined) keys.add(header.timer.key);
      if (header?.call !== undefined) rows.add(callRow(header.call.id));
      if (reads instanceof Fault) continue;
      for (const name in reads) {
        const place = reads[name];
        if (place !== undefined) rows.add(rowOf(place.projection.name, place.key));
      }
    }
    const present = new Map<string, Row>();
    const missing: string[] = [];
    for (const row of rows) {
      const json = cache.get(row);
      if (typeof json === 'string') present.set(row, decodeRow(json));
      else if (json === undefined && saved?.mayHave(row) !== false) missing.push(row);
    }
    const found = await view(missing, [...keys]);
    if (found === undefined) return undefined;
    for (const [index, row] of missing.entries()) {
      const json = found.rows[index];
      cache.set(row, json ?? null);
      if (json !== undefined) present.set(row, decodeRow(json));
    }
    if (keys.size === 0) return { inputs, present };
    const timers = new Map([...keys].map((key, index) => [key, found.timers[index]]));
    const timed = inputs.map((each) => ({
      ...each,
      timer: each.header?.timer === undefined ? undefined : timers.get(each.header.timer.key),
    }));
    return { inputs: timed, present };
  };

  const remember = (folded: Folded): void => {
    for (const { row, json } of folded.rowWrites) {
      cache.set(row, json ?? null);
      saved?.add(row);
    }
    cache.shrink();
    for (const write of folded.timers.values()) {
      if ('set' in write) earliest = Math.min(earliest, write.set.dueAt);
    }
  };

  const handleChunk = async (records: readonly IncomingRecord[]): Promise<Handled> => {
    const startedAt = clock.now();
    const prepared = await prepare(records);
    if (prepared === undefined) return 'reopen';
    const folded = foldRecords(
      {
        stage,
        settings: context.settings,
        tables: context.tables,
        codec,
        partition: slot.partition,
        partitionsOf: context.partitionsOf,
        liveFrom: log.committed,
        watermarks: context.guards.watermarks,
        timerIds: context.guards.timers,
        traceparentOf,
      },
      position,
      prepared.inputs,
      (row) => prepared.present.get(row),
    );
    if (closed.signal.aborted) return 'reopen';
    const watched = watchRejects(breaker, folded.records, runtime.rejectsInARow);
    if (watched.type === 'open') {
      // Nothing of this batch was sent or saved: whoever starts next finds it as it was.
      throw new BusError('too-many-rejects', {
        stage: stage.name,
        record: `${stage.input.name}/${slot.partition}/${watched.offset}`,
        code: watched.code,
        inARow: watched.inARow,
      });
    }
    await sender.send(folded.outputs);
    if (closed.signal.aborted) return 'reopen';
    const present = context.guards.fence ? position.fence : await waiting(() => store.fence(slot));
    isSaving = true;
    try {
      const result = await waiting(() =>
        store.save(slot, present ?? position.fence, {
          fence: folded.position.fence,
          at: folded.position.at,
          watermarks: folded.changedWatermarks,
          rows: folded.rowWrites,
          timers: [...folded.timers.values()],
        }),
      );
      if (result.type !== 'saved') return 'reopen';
      position = folded.position;
    } finally {
      isSaving = false;
    }
    next = position.fence + 1n;
    breaker = watched;
    remember(folded);
    context.onFolded(folded.records);
    tracing?.saved(slot.partition, folded.traced, startedAt);
    if (folded.calls.length > 0) await context.onCalls(slot.partition, folded.calls);
    return 'handled';
  };

  return {
    next: () => next,
    committable: () => (next > log.committed ? next : log.committed),
    idleSince: () => idleSince,
    isTruncated,
    rejectsInARow: () => breaker.inARow,
    close: () => closed.abort(),
    finish() {
      finishing = true;
    },

    async handle(records) {
      const fresh = records.filter((record) => record.offset >= next);
      for (const chunk of chunksOf(fresh, runtime)) {
        if (closed.signal.aborted) return 'reopen';
        const handled = await handleChunk(chunk);
        if (handled === 'reopen') return 'reopen';
        if (finishing) break;
      }
      idleSince = clock.now();
      return 'handled';
    },

    async fireTimers() {
      // Of a state that is being folded again: most of what is due there fired before, and its record lies ahead.
      if (next < log.committed) return;
      const now = clock.now();
      if (earliest > now) return;
      const due = await store.due(slot, now, runtime.dueTimers + fired.size);
      const fresh = due.filter((timer) => (fired.get(timer.id)?.againAt ?? now) <= now);
      const pending = new Set(due.map(({ id }) => id));
      for (const id of fired.keys()) if (!pending.has(id)) fired.delete(id);
      for (const { id } of fresh) {
        // Its record most likely lies behind others, so each repeat waits longer: they would only make the way longer.
        const waitMs = Math.min(2 * (fired.get(id)?.waitMs ?? 0) || runtime.timerRepeatMs, 32 * runtime.timerRepeatMs);
        fired.set(id, { againAt: now + waitMs, waitMs });
      }
      await sender.send(
        fresh.map((timer) => {
          // Timers are written by this shell alone, in this one form.
          const { rootId, causeId, value } = JSON.parse(timer.json) as {
            rootId: string;
            causeId: string;
            value: unknown;
          };
          return {
            topic: stage.input.name,
            partition: slot.partition,
            key: Buffer.from(stage.input.key(value), 'utf8'),
            value: codec.encode(stage.input, value),
            header: formatHeader({ rootId, causeId, timer: { key: timer.key, id: timer.id } }),
          };
        }),
      );
      const coming = await store.due(slot, Number.MAX_SAFE_INTEGER, fired.size + 1);
      const waitingFor = coming.find((timer) => !fired.has(timer.id))?.dueAt ?? Number.POSITIVE_INFINITY;
      earliest = waitingFor;
      for (const { againAt } of fired.values()) earliest = Math.min(earliest, againAt);
    },

    async checkFence() {
      const asked = position;
      const fence = await store.fence(slot);
      idleSince = clock.now();
      // A batch that was saved meanwhile has compared for itself, or will when the store's answer to it is there.
      return fence === asked.fence || position !== asked || isSaving ? 'handled' : 'reopen';
    },
  };
}

/** Cuts records into chunks within the bounds of a batch; a single record over the bound is a chunk of its own. */
function chunksOf(records: readonly IncomingRecord[], bounds: RuntimeSettings): readonly (readonly IncomingRecord[])[] {
  const chunks: IncomingRecord[][] = [];
  let chunk: IncomingRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = recordBytes(record);
    if (chunk.length > 0 && (chunk.length >= bounds.batchRecords || bytes + size > bounds.batchBytes)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(record);
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

import type { PartitionOwner, RecordBatch } from '../runtime/bus.ts';

/** A call that an owner got. */
export type OwnerCall =
  | { readonly type: 'assigned'; readonly partition: number; readonly committed: bigint; readonly start: bigint }
  | { readonly type: 'batch'; readonly partition: number; readonly batch: RecordBatch }
  | { readonly type: 'revoked'; readonly partition: number };

/** An owner that keeps what it was called with. */
export interface RecordingOwner extends PartitionOwner {
  readonly calls: readonly OwnerCall[];
  /** The values that a partition gave, as text, in the order of the calls. */
  readonly texts: (partition: number) => readonly string[];
  /** The partitions that were assigned and not taken away since. */
  readonly held: () => readonly number[];
  readonly firstAssigned: (partition: number) => OwnerCall | undefined;
  readonly timesAssigned: (partition: number) => number;
  /** Calls that have not answered yet. */
  readonly running: () => number;
  /** Whether two calls for one partition ever ran at once. */
  readonly overlapped: () => boolean;
}

/** Makes an owner that reads from the first kept record to the end, unless told otherwise. */
export function recordingOwner(
  behaviour: {
    readonly openAt?: (partition: number, position: { committed: bigint; start: bigint }) => bigint;
    readonly answer?: (partition: number, batch: RecordBatch) => bigint;
    readonly whileBatch?: (partition: number, batch: RecordBatch) => Promise<void>;
  } = {},
): RecordingOwner {
  const calls: OwnerCall[] = [];
  const held = new Set<number>();
  const busy = new Set<number>();
  let overlapped = false;

  const alone = async <T>(partition: number, call: () => Promise<T>): Promise<T> => {
    if (busy.has(partition)) overlapped = true;
    busy.add(partition);
    try {
      return await call();
    } finally {
      busy.delete(partition);
    }
  };
  const assignments = (partition: number) =>
    calls.filter((call) => call.type === 'assigned' && call.partition === partition);

  return {
    assigned: (partition, position) =>
      alone(partition, async () => {
        calls.push({ type: 'assigned', partition, committed: position.committed, start: position.start });
        held.add(partition);
        return behaviour.openAt?.(partition, position) ?? position.start;
      }),
    batch: (partition, batch) =>
      alone(partition, async () => {
        calls.push({ type: 'batch', partition, batch });
        await behaviour.whileBatch?.(partition, batch);
        return behaviour.answer?.(partition, batch) ?? batch.next;
      }),
    revoked(partition) {
      calls.push({ type: 'revoked', partition });
      held.delete(partition);
    },
    calls,
    texts: (partition) =>
      calls.flatMap((call) =>
        call.type === 'batch' && call.partition === partition
          ? call.batch.records.map((record) => String(record.value))
          : [],
      ),
    held: () => [...held].toSorted((a, b) => a - b),
    firstAssigned: (partition) => assignments(partition)[0],
    timesAssigned: (partition) => assignments(partition).length,
    running: () => busy.size,
    overlapped: () => overlapped,
  };
}

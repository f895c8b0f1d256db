import type { PartitionOwner } from '../bus.ts';
import type { Fetched } from './fetch.ts';

/** Where the group and the log stand for a partition. */
export interface LanePosition {
  readonly committed: bigint;
  readonly start: bigint;
}

/** One partition of a membership: it knows where to read, and calls the owner for one thing at a time. */
export interface Lane {
  /** Asks the owner where to read, after what runs has finished. */
  readonly open: (position: () => Promise<LanePosition>) => void;
  /** The offset to read now; undefined while the owner is at work or is being asked. */
  readonly wanted: () => bigint | undefined;
  /** Gives the owner what was read; what was read for another position than the present one is dropped. */
  readonly deliver: (fetched: Fetched) => Promise<void>;
  /** Reads nothing more until it is opened again; resolves when the running call has finished. */
  readonly suspend: () => Promise<void>;
  /** The partition is lost. */
  readonly close: () => void;
}

/** Makes a lane. `failed` is told what the owner threw; `changed` that the lane wants to be read. */
export function createLane(options: {
  readonly partition: number;
  readonly owner: PartitionOwner;
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}): Lane {
  const { partition, owner, changed, failed } = options;
  // Counts what makes an answer of the owner void: the next opening, a suspension, the loss of the partition.
  let era = 0;
  let position: bigint | undefined;
  let last: Promise<void> = Promise.resolve();

  const afterLast = (step: () => Promise<bigint | undefined>): Promise<void> => {
    const mine = era;
    last = last.then(async () => {
      if (mine !== era) return;
      try {
        const next = await step();
        if (mine !== era) return;
        position = next;
        changed();
      } catch (error) {
        // Whoever lost the partition may give up in the middle.
        if (mine === era) failed(error);
      }
    });
    return last;
  };

  return {
    wanted: () => position,
    open(read) {
      era++;
      position = undefined;
      const mine = era;
      void afterLast(async () => {
        const found = await read();
        return mine === era ? owner.assigned(partition, found) : undefined;
      });
    },
    deliver(fetched) {
      if (fetched.from !== position || fetched.next === fetched.from) return Promise.resolve();
      position = undefined;
      const { records, next, end } = fetched;
      return afterLast(() => owner.batch(partition, { records, next, end }));
    },
    suspend() {
      era++;
      position = undefined;
      return last;
    },
    close() {
      era++;
      position = undefined;
      owner.revoked(partition);
    },
  };
}

/** A record as a stage sees it. */
export interface Message<V> {
  /** Stable: the same record has the same id in every process and every replay. */
  readonly id: string;
  /** The id of the fact that all of this began with. */
  readonly rootId: string;
  /** Epoch milliseconds of the log; never decreasing within a partition. */
  readonly at: number;
  readonly key: string;
  readonly value: V;
  /** Set on a redriven record: only this part of the work is wanted. */
  readonly part?: string;
}

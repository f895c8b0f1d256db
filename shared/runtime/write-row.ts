import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../errors.ts';
import type { Table } from '../stage/stage.ts';
import type { Clock } from './clock.ts';
import type { Publisher } from './publisher.ts';

const lookMs = 10;

/** Where rows of a compacted topic are written, and the table of this process in which they then show. */
export interface RowWriter<V> {
  readonly topic: Topic<V>;
  readonly table: Pick<Table<V>, 'get'>;
  readonly publisher: Publisher;
  readonly clock: Clock;
  /** How long a write that the log has may take to show. */
  readonly showMs: number;
}

/** Waits until the table shows what was written: who reads after that sees it too. */
async function untilShown<V>(
  { topic, table, clock, showMs }: RowWriter<V>,
  key: string,
  isShown: (row?: V) => boolean,
): Promise<void> {
  const deadline = clock.now() + showMs;
  while (!isShown(table.get(key))) {
    if (clock.now() > deadline) {
      throw new BusError('infrastructure-unavailable', { topic: topic.name, problem: 'the write does not show' });
    }
    await clock.sleep(lookMs);
  }
}

/** Writes one row of a compacted topic; it can be read when this resolves. */
export async function writeRow<V extends { readonly updatedAt: number }>(writer: RowWriter<V>, row: V): Promise<void> {
  await writer.publisher.publish(writer.topic, row);
  // A newer row of somebody else shows that this one went by.
  await untilShown(writer, writer.topic.key(row), (shown) => shown !== undefined && shown.updatedAt >= row.updatedAt);
}

/** Removes one row of a compacted topic; it is gone when this resolves. */
export async function removeRow<V>(writer: RowWriter<V>, key: string): Promise<void> {
  await writer.publisher.remove(writer.topic, key);
  await untilShown(writer, key, (shown) => shown === undefined);
}

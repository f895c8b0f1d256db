import type { Topic } from '../../schemas/define.ts';
import { type RowWriter, removeRow as remove, writeRow } from '../../shared/runtime/write-row.ts';
import type { CommandContext } from './context.ts';

const showMs = 10_000;

const writerOf = async <V>(context: CommandContext, topic: Topic<V>): Promise<RowWriter<V>> => ({
  topic,
  table: await context.table(topic),
  publisher: await context.publisher([topic]),
  clock: context.clock,
  showMs,
});

/** Writes one row of a configuration topic; it can be read when this resolves. */
export const putRow = async <V extends { readonly updatedAt: number }>(
  context: CommandContext,
  topic: Topic<V>,
  row: V,
): Promise<void> => writeRow(await writerOf(context, topic), row);

/** Removes one row of a configuration topic; it is gone when this resolves. */
export const removeRow = async <V>(context: CommandContext, topic: Topic<V>, key: string): Promise<void> =>
  remove(await writerOf(context, topic), key);

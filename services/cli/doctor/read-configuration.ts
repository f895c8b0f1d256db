import type { Topic } from '../../../schemas/define.ts';
import { openTable, type TableProblem } from '../../../shared/runtime/tables.ts';
import type { CommandContext } from '../context.ts';
import type { TableReading } from './check-configuration.ts';

const retryMs = 200;

/** Reads a compacted topic whole, once, and keeps what could not be read. */
export async function readTable<V>({ bus, codec, clock }: CommandContext, topic: Topic<V>): Promise<TableReading<V>> {
  const problems: TableProblem[] = [];
  const { table, ready, close } = await openTable({
    topic,
    bus: await bus(),
    codec: await codec(),
    clock,
    retryMs,
    onProblem: (problem) => problems.push(problem),
  });
  try {
    await ready;
    return { rows: table.all(), problems };
  } finally {
    await close();
  }
}

import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../../shared/errors.ts';
import type { CommandContext } from './context.ts';

const lookMs = 10;
const patienceMs = 10_000;

/** Waits until a compacted topic, read by this process, shows what it wrote: the next command then sees it too. */
async function untilShown<V>(
  context: CommandContext,
  { topic, key, isShown }: { readonly topic: Topic<V>; readonly key: string; readonly isShown: (row?: V) => boolean },
): Promise<void> {
  const table = await context.table(topic);
  const deadline = context.clock.now() + patienceMs;
  while (!isShown(table.get(key))) {
    if (context.clock.now() > deadline) {
      throw new BusError('infrastructure-unavailable', { topic: topic.name, problem: 'the write does not show' });
    }
    await context.clock.sleep(lookMs);
  }
}

/** Writes one row of a configuration topic; it can be read when this resolves. */
export async function putRow<V extends { readonly updatedAt: number }>(
  context: CommandContext,
  topic: Topic<V>,
  row: V,
): Promise<void> {
  const publisher = await context.publisher([topic]);
  await publisher.publish(topic, row);
  // A newer row of somebody else shows that this one went by.
  const isShown = (shown?: V) => shown !== undefined && shown.updatedAt >= row.updatedAt;
  await untilShown(context, { topic, key: topic.key(row), isShown });
}

/** Removes one row of a configuration topic; it is gone when this resolves. */
export async function removeRow<V>(context: CommandContext, topic: Topic<V>, key: string): Promise<void> {
  const publisher = await context.publisher([]);
  await publisher.remove(topic, key);
  await untilShown(context, { topic, key, isShown: (shown) => shown === undefined });
}

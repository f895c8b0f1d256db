import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../errors.ts';
import type { AnyStage } from '../stage/stage.ts';
import type { Bus } from './bus.ts';
import type { Clock } from './clock.ts';
import { inReach } from './in-reach.ts';

/** The partition counts of all topics that a stage reads or writes. Waits while the log is away. Throws `topic-missing`. */
export async function partitionCounts(options: {
  readonly stage: AnyStage;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly retryMs: number;
  readonly stop?: AbortSignal;
  readonly onWait?: () => void;
}): Promise<ReadonlyMap<string, number>> {
  const { stage, bus } = options;
  const topics: readonly Topic[] = [stage.input, ...stage.outputs, decisions as Topic, deadLetters as Topic];
  const counts = new Map<string, number>();
  for (const { name } of topics) {
    const offsets = await inReach(() => bus.offsets(name), options);
    if (offsets === undefined) throw new BusError('topic-missing', { topic: name });
    counts.set(name, offsets.length);
  }
  return counts;
}

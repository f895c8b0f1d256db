import { patiently } from '../runtime/patience.ts';
import { groupOf } from '../runtime/run-stage.ts';
import { clockSlackMs } from './decisions.ts';
import type { LoggedRecord } from './log-reader.ts';
import { type JourneyWorld, rootIdOf } from './world.ts';

/** A record that lies before a stage and was not committed by its group. */
export interface Uncommitted {
  readonly logged: LoggedRecord;
  readonly stage: string;
  readonly lag: bigint;
}

const scanLimit = 10_000;

/**
 * The records of a fact that wait before a stage. Upstream stages are asked first: what moves on meanwhile is then met
 * further down.
 */
export async function findUncommitted(
  rootId: string,
  startedAt: number | undefined,
  { bus, clock, codec, log, pipeline, progress }: JourneyWorld,
): Promise<readonly Uncommitted[]> {
  const found: Uncommitted[] = [];
  for (const { name, input } of pipeline) {
    const topic: string = input.name;
    const committed = await patiently(clock, () => bus.committed(groupOf(name), topic));
    for (const [partition, { start, end }] of (await log.bounds(topic)).entries()) {
      const next = committed[partition] ?? -1n;
      const done = next < start ? start : next;
      if (done >= end) continue;
      progress(`Looking at what waits before ${name} in ${topic}/${partition} …`);
      const since = startedAt === undefined ? done : await log.offsetAt(topic, partition, startedAt - clockSlackMs);
      const from = since > done ? since : done;
      for await (const logged of log.scan({ topic, partition, from, limit: scanLimit })) {
        if ((await rootIdOf(logged, codec)) === rootId) found.push({ logged, stage: name, lag: end - done });
      }
    }
  }
  progress(undefined);
  return found;
}

import { type LogRecord, type Offsets, readLog } from '../e2e/checker/log.ts';

/** Reads one partition of some topics, whole. `ends` are those of all their partitions. */
export async function readPartition(
  brokers: string,
  topics: readonly string[],
  { partition, ends }: { readonly partition: number; readonly ends: Offsets },
): Promise<(topic: string) => readonly LogRecord[]> {
  const to = new Map([...ends].map(([name, end]) => [name, name.endsWith(`/${partition}`) ? end : 0n]));
  const log = await readLog(brokers.split(','), topics, { to });
  return (topic) => log.get(topic) ?? [];
}

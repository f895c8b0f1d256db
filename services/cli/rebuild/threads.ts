import type { Environment } from '../../../shared/runtime/connection-settings.ts';
import { type RebuildThreads, startRebuildThreads } from '../../../shared/runtime/rebuild-threads.ts';
import type { CommandContext } from '../context.ts';

/** What a thread that folds is told when it starts. */
export interface ThreadOrder {
  readonly stage: string;
  readonly environment: Environment;
}

/** What a fold makes of a batch lives until the batch is saved: in less room, most of it would be copied several times. */
const limits = { maxYoungGenerationSizeMb: 192 };

/** Threads that fold a stage; undefined where they would not reach the world that this process has. */
export function threadsOf(
  stage: string,
  most: { readonly threads: number; readonly each: number },
  { startThread, environment }: CommandContext,
): RebuildThreads | undefined {
  if (startThread === undefined) return undefined;
  const order: ThreadOrder = { stage, environment: { ...environment() } };
  return startRebuildThreads({
    ...most,
    start: () => startThread(new URL('./thread.ts', import.meta.url), order, limits),
  });
}

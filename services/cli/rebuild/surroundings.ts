import { topics } from '../../../schemas/index.ts';
import { readConfig } from '../../../shared/config.ts';
import type { RebuildSurroundings } from '../../../shared/runtime/rebuild-partition.ts';
import { config as runtimeConfig } from '../../../shared/runtime/runtime-settings.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import type { CommandContext } from '../context.ts';
import { tablesOf } from './stages.ts';

/** A row that many records change is saved once a batch; batches of large records are bounded by their bytes before. */
const batchRecords = 2_000;

/** What a stage is folded with, and on, as the environment has it. */
export async function surroundingsOf(stage: AnyStage, context: CommandContext): Promise<RebuildSurroundings> {
  const [settings, runtime] = readConfig([stage.config, runtimeConfig] as const, context.environment());
  const [bus, store, codec, tables] = await Promise.all([
    context.bus(),
    context.store(),
    context.codec(topics),
    tablesOf(stage, context),
  ]);
  const folding = { ...runtime, batchRecords: Math.max(runtime.batchRecords, batchRecords) };
  return { stage, settings, runtime: folding, bus, store, codec, tables, clock: context.clock };
}

import type { Topic } from '../../../schemas/define.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';
import { stages } from '../../index.ts';
import type { CommandContext } from '../context.ts';

/** The stages that can be named on the command line. */
// There are always some: the list is generated from the folders of the stages.
export const stageNames = [...stages.keys()] as [string, ...string[]];

/** The stage of a name that was checked against `stageNames`. */
export function stageNamed(name: string): AnyStage {
  const stage = stages.get(name);
  if (stage === undefined) throw new RangeError(`no stage ${name}`);
  return stage;
}

/** The compacted topics that a stage reads whole, as they are now. */
export async function tablesOf(stage: AnyStage, context: CommandContext): Promise<Readonly<Record<string, unknown>>> {
  const tables = Object.entries((stage.tables ?? {}) as Record<string, Topic>);
  return Object.fromEntries(
    await Promise.all(tables.map(async ([name, topic]) => [name, await context.table(topic)] as const)),
  );
}

import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import type { AnyStage } from '../../shared/stage/index.ts';

/** The stages that a raw fact passes, in the order in which it does. */
export function inOrder(all: readonly AnyStage[]): readonly AnyStage[] {
  const ordered: AnyStage[] = [];
  const reached: string[] = [rawProviderFacts.name];
  for (const topic of reached) {
    for (const stage of all) {
      if (stage.input.name !== topic || ordered.includes(stage)) continue;
      ordered.push(stage);
      reached.push(...stage.outputs.map(({ name }) => name));
    }
  }
  return ordered;
}

import { aboutOf, type Expected, type Fact, joined, type RouteOfFact } from './contract.ts';
import { type LogRecord, placeOf } from './log.ts';

/** What the filter must have made: of each fact one accepted fact on each route that it passes, and one decision on each other. */
export function refoldFilter(
  normalized: readonly LogRecord[],
  routes: readonly { readonly route: RouteOfFact; readonly passes: (fact: Fact) => boolean }[],
): readonly Expected[] {
  return normalized.flatMap((record) =>
    routes.map(({ route, passes }): Expected => {
      // The contract of the topic.
      const fact = record.value as Fact;
      const source = placeOf(record);
      const { agentUid, bindingName } = route;
      if (passes(fact)) {
        return {
          topic: 'accepted-facts',
          key: fact.signalChannelId,
          source: `${source}/${joined(agentUid, bindingName)}`,
          value: { type: 'fact.accepted', route, fact },
        };
      }
      const { rootId = '', at } = record;
      const about = { ...aboutOf(fact), agentUid, bindingName };
      const value = { rootId, stage: 'filter', status: 'filtered', at, from: source, about };
      return { topic: 'decisions', key: rootId, source, value };
    }),
  );
}

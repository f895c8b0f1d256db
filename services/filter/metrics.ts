import type { NormalizedFact } from '../../schemas/normalized-fact.ts';
import { counter, defineMetrics } from '../../shared/metrics.ts';
import type { Effect } from '../../shared/stage/index.ts';

export const metrics = defineMetrics<NormalizedFact>({
  filter_facts_total: counter(
    'Facts, by kind and by the best that became of them on any binding.',
    ({ message, effects }) => ({
      kind: message.value.type,
      outcome: best(effects.map(endOf)),
    }),
  ),
});

const ranked = [
  ...['accepted', 'invalid_binding_filter', 'filtered'],
  ...['binding_unavailable', 'binding_disabled', 'binding_not_found'],
];

function endOf(effect: Effect): string {
  if (effect.do === 'outcome') return effect.status;
  return effect.do === 'reject' ? effect.code : 'accepted';
}

/** A counter counts a message once, so of several bindings the one that went furthest is told. */
const best = (ends: readonly string[]): string => ranked.find((end) => ends.includes(end)) ?? 'none';

import type { NormalizedFact } from '../../schemas/normalized-fact.ts';
import { counter, defineMetrics } from '../../shared/metrics.ts';

export const metrics = defineMetrics<NormalizedFact>({
  filter_facts_total: counter(
    'Facts, by kind and by the best that became of them on any binding.',
    ({ message, effects }) => ({
      kind: message.value.type,
      outcome: best(effects.map((effect) => (effect.do === 'outcome' ? effect.status : effect.do))),
    }),
  ),
});

const ranked = ['emit', 'reject', 'filtered', 'binding_unavailable', 'binding_disabled', 'binding_not_found'] as const;

const words: Readonly<Record<(typeof ranked)[number], string>> = {
  emit: 'accepted',
  reject: 'invalid_binding_filter',
  filtered: 'filtered',
  binding_unavailable: 'binding_unavailable',
  binding_disabled: 'binding_disabled',
  binding_not_found: 'binding_not_found',
};

/** A counter counts a message once, so of several bindings the one that went furthest is told. */
function best(ends: readonly string[]): string {
  const found = ranked.find((end) => ends.includes(end));
  return found === undefined ? 'none' : words[found];
}

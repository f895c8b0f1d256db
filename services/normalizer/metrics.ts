import type { RawProviderFact } from '../../schemas/raw-provider-fact.ts';
import { counter, defineMetrics } from '../../shared/metrics.ts';

export const metrics = defineMetrics<RawProviderFact>({
  normalizer_facts_total: counter('Raw facts, by what became of them.', ({ effects }) => {
    const [first] = effects;
    if (first?.do === 'reject') return { outcome: first.code };
    if (first?.do === 'outcome') return { outcome: first.status };
    return { outcome: 'normalized' };
  }),
});

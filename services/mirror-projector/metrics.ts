import type { AcceptedFact } from '../../schemas/accepted-fact.ts';
import { counter, defineMetrics } from '../../shared/metrics.ts';

export const metrics = defineMetrics<AcceptedFact>({
  mirror_facts_total: counter('Accepted facts, by kind and by what became of them.', ({ message, effects }) => {
    const end = effects.find((effect) => effect.do === 'outcome' || effect.do === 'reject');
    if (end === undefined) return undefined;
    const { value } = message;
    const kind = value.type === 'batch.due' ? 'batch' : value.fact.type;
    return { kind, outcome: end.do === 'outcome' ? end.status : end.code };
  }),
});

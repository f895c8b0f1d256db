import type { Decision } from '../../schemas/decision.ts';
import { counter, defineMetrics } from '../../shared/metrics.ts';

export const metrics = defineMetrics<Decision>({
  decisions_total: counter('Decisions, by status and by what the journal did with them.', ({ message, effects }) => ({
    status: message.value.status,
    outcome: effects.length === 0 ? 'repeated' : 'kept',
  })),
});

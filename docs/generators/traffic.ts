import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import type { Traffic } from './asyncapi.ts';

/** Who reads and writes topics and is no stage. */
export const aroundTheStages: readonly Traffic[] = [
  {
    name: 'ingress',
    summary: 'Takes webhooks in: verifies, publishes, acknowledges.',
    receives: ['connections'],
    sends: [rawProviderFacts.name, 'decisions'],
  },
];

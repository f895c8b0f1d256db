import { actorEvents } from '../../schemas/actor-event.ts';
import { bindings } from '../../schemas/binding.ts';
import { connections } from '../../schemas/connection.ts';
import { decisions } from '../../schemas/decision.ts';
import { normalizedFacts } from '../../schemas/normalized-fact.ts';
import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { tokens } from '../../schemas/token.ts';
import type { Traffic } from './asyncapi.ts';

/** Who reads and writes topics and is no stage. */
export const aroundTheStages: readonly Traffic[] = [
  {
    name: 'command-line',
    summary: 'Writes connections, bindings and tokens.',
    receives: [connections.name, bindings.name, tokens.name, normalizedFacts.name],
    sends: [connections.name, bindings.name, tokens.name],
  },
  {
    name: 'api',
    summary: 'Answers HTTP: reads and writes bindings and connections, reads the mirror and journeys.',
    receives: [connections.name, bindings.name, tokens.name, normalizedFacts.name],
    sends: [connections.name, bindings.name],
  },
  {
    name: 'ingress',
    summary: 'Takes webhooks in: verifies, publishes, acknowledges.',
    receives: [connections.name],
    sends: [rawProviderFacts.name, decisions.name],
  },
  {
    name: 'agents',
    summary: 'Take up the work of their sessions.',
    receives: [actorEvents.name],
    sends: [],
  },
];

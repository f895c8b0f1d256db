import { z } from 'zod';
import { UnaddressedGroupMessagePolicy } from './binding.ts';
import { defineTopic } from './define.ts';
import { AgentUid, BindingName } from './ids.ts';
import { aboutFact, exampleFact, NormalizedFact } from './normalized-fact.ts';

/** What later stages need of the binding, copied when the fact passed it. */
export const RouteOfFact = z.object({
  agentUid: AgentUid,
  bindingName: BindingName,
  adapter: z.string().min(1).max(64),
  unaddressedGroupMessagePolicy: UnaddressedGroupMessagePolicy,
  /** As the binding has it; absent: on. */
  entryEditedEvents: z.boolean().optional(),
});
export type RouteOfFact = z.infer<typeof RouteOfFact>;

/** A fact that passed a binding's filter; a fact that passes three bindings makes three of these. */
export const FactAccepted = z.object({ type: z.literal('fact.accepted'), route: RouteOfFact, fact: NormalizedFact });
export type FactAccepted = z.infer<typeof FactAccepted>;

/** What the mirror-projector reads. */
export const AcceptedFact = z.discriminatedUnion('type', [FactAccepted]);
export type AcceptedFact = z.infer<typeof AcceptedFact>;

/** Facts that passed a binding, ordered by channel. */
export const acceptedFacts = defineTopic<AcceptedFact>({
  name: 'accepted-facts',
  summary: 'Fact × binding that passed the filter, ordered by channel.',
  value: AcceptedFact,
  key: ({ fact }) => fact.signalChannelId,
  keep: { days: 90 },
  maxBytes: 4_194_304,
  about: ({ fact, route }) => ({ ...aboutFact(fact), agentUid: route.agentUid, bindingName: route.bindingName }),
  example: AcceptedFact.parse({
    type: 'fact.accepted',
    route: { agentUid: 'iris', bindingName: 'desk', adapter: 'github', unaddressedGroupMessagePolicy: 'record_only' },
    fact: exampleFact,
  }),
});

import { z } from 'zod';
import { BatchWindows, UnaddressedGroupMessagePolicy } from './binding.ts';
import { defineTopic } from './define.ts';
import { AgentUid, BindingName, SignalChannelId } from './ids.ts';
import { HandedOverInput } from './mirror.ts';
import { aboutFact, EntryLifecycle, EntryReceived, exampleFact, NormalizedFact } from './normalized-fact.ts';

/** What later stages need of the binding, copied when the fact passed it. */
export const RouteOfFact = z.object({
  agentUid: AgentUid,
  bindingName: BindingName,
  adapter: z.string().min(1).max(64),
  unaddressedGroupMessagePolicy: UnaddressedGroupMessagePolicy,
  /** As the binding has it; absent: on. */
  entryEditedEvents: z.boolean().optional(),
  windows: BatchWindows.optional(),
});
export type RouteOfFact = z.infer<typeof RouteOfFact>;

/** A fact that passed a binding's filter; a fact that passes three bindings makes three of these. */
export const FactAccepted = z.object({ type: z.literal('fact.accepted'), route: RouteOfFact, fact: NormalizedFact });
export type FactAccepted = z.infer<typeof FactAccepted>;

/** A timer of the mirror-projector: a batch has waited long enough, if it is still at this revision. */
export const BatchDue = z.object({
  type: z.literal('batch.due'),
  route: RouteOfFact,
  signalChannelId: SignalChannelId,
  providerThreadId: z.string().optional(),
  batchId: z.string().min(1).max(100),
  revision: z.int().positive(),
});
export type BatchDue = z.infer<typeof BatchDue>;

/** An entry that `ignore` kept out of the mirror has become part of what addresses the agent, and is to be shown. */
export const EntryAddressed = z.object({ type: z.literal('entry.addressed'), route: RouteOfFact, fact: EntryReceived });
export type EntryAddressed = z.infer<typeof EntryAddressed>;

/**
 * An entry that agents were given was removed or edited, and one of the events that held it, `merged`, is made of other
 * messages too: what remains of it is in a row that only the event names.
 */
export const InputChanged = z.object({
  type: z.literal('input.changed'),
  route: RouteOfFact,
  fact: z.discriminatedUnion('type', [EntryReceived, EntryLifecycle]),
  inputs: z.array(HandedOverInput).min(1),
});
export type InputChanged = z.infer<typeof InputChanged>;

/** What the mirror-projector reads: facts that passed, and what it told itself to do later. */
export const AcceptedFact = z.discriminatedUnion('type', [FactAccepted, BatchDue, EntryAddressed, InputChanged]);
export type AcceptedFact = z.infer<typeof AcceptedFact>;

/** Facts that passed a binding, ordered by channel. */
export const acceptedFacts = defineTopic<AcceptedFact>({
  name: 'accepted-facts',
  summary: 'Fact × binding that passed the filter, and due timers of the mirror, ordered by channel.',
  value: AcceptedFact,
  key: (accepted) => (accepted.type === 'batch.due' ? accepted : accepted.fact).signalChannelId,
  keep: { days: 90 },
  maxBytes: 4_194_304,
  about: (accepted) => ({
    ...(accepted.type === 'batch.due' ? { signalChannelId: accepted.signalChannelId } : aboutFact(accepted.fact)),
    agentUid: accepted.route.agentUid,
    bindingName: accepted.route.bindingName,
  }),
  example: AcceptedFact.parse({
    type: 'fact.accepted',
    route: { agentUid: 'iris', bindingName: 'desk', adapter: 'github', unaddressedGroupMessagePolicy: 'record_only' },
    fact: exampleFact,
  }),
});

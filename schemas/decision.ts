import { z } from 'zod';
import { defineTopic } from './define.ts';

/**
 * The ends that a fact's way can have. `handed_over` follows on another end: a message that waited went to the agent, with
 * others or alone; or what a change of it leaves of an event of several messages did.
 */
export const OutcomeStatus = z.enum([
  'answered_handshake',
  'ignored_unknown_event',
  'ignored_own_message',
  'binding_not_found',
  'binding_disabled',
  'binding_unavailable',
  'filtered',
  'dropped_tombstoned',
  'duplicate',
  'ignored',
  'recorded',
  'mirrored',
  'ignored_unknown_entry',
  'duplicate_action',
  'stale_action',
  'loop_guard',
  'accepted',
  'handed_over',
  'input_superseded_refresh',
  'dead_letter',
]);
export type OutcomeStatus = z.infer<typeof OutcomeStatus>;

/** One end of a fact's way: one per fact and binding, and one more where it was handed over later. `from` names the record that was decided on. */
export const Decision = z.object({
  rootId: z.string().min(1),
  stage: z.string().min(1),
  status: OutcomeStatus,
  reason: z.string().max(1_000).optional(),
  at: z.int().nonnegative(),
  /** `<topic>/<partition>/<offset>` of the record that was decided on; absent where nothing was published. */
  from: z.string().optional(),
  about: z.object({
    connectionId: z.string().optional(),
    providerEventId: z.string().optional(),
    sourceEventId: z.string().optional(),
    signalChannelId: z.string().optional(),
    sourceEntryId: z.string().optional(),
    agentUid: z.string().optional(),
    bindingName: z.string().optional(),
    actorEventId: z.string().optional(),
  }),
});
export type Decision = z.infer<typeof Decision>;

/** What became of every fact. */
export const decisions = defineTopic<Decision>({
  name: 'decisions',
  summary: 'What became of each fact: one record per outcome, ordered by the fact.',
  value: Decision,
  key: (decision) => decision.rootId,
  keep: { days: 7 },
  about: (decision) => ({ ...decision.about }) as Record<string, string>,
  example: Decision.parse({
    rootId: '01960000-0000-7000-8000-000000000001',
    stage: 'mirror-projector',
    status: 'accepted',
    at: 1_929_952_800_000,
    from: 'accepted-facts/3/120',
    about: { agentUid: 'iris', bindingName: 'desk', actorEventId: '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
  }),
});

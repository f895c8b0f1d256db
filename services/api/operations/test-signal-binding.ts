import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { NormalizedFact } from '../../../schemas/normalized-fact.ts';
import { requireFilter } from '../../../shared/cel/filter.ts';
import { tryFilter } from '../../filter/trial.ts';
import { members, refusals } from '../members.ts';
import { bindingOf } from '../save-binding.ts';
import { defineOperation } from '../world.ts';

const TriedFact = z.object({
  position: z.string().describe('Where the fact lies in the log: topic/partition/offset.'),
  at: z.int().describe('When it was appended, epoch milliseconds.'),
  kind: z.string(),
  signalChannelId: z.string(),
  sourceEntryId: z.string().nullable(),
  sourceEventId: z.string(),
  outcome: z.enum(['passes', 'filtered', 'failed']),
  reason: z.string().describe('The part that decided, or what failed.'),
  parts: z
    .array(
      z.object({ text: z.string(), outcome: z.enum(['true', 'false', 'failed']), reason: z.string().exactOptional() }),
    )
    .describe('What each part said that && or || joins at the top of the filter.'),
});

export const testSignalBinding = defineOperation({
  name: 'test-signal-binding',
  summary: 'Try a filter on the newest facts of a binding, and say for each why it passed or not.',
  details: 'Without `filters` the stored filter is tried. Nothing is changed, and nobody is woken.',
  http: 'POST /agents/:agentUid/signal-bindings/:bindingName/test',
  scope: 'bindings:write',
  reach: 'agent',
  input: z.strictObject({
    agentUid: members.agentUid,
    bindingName: members.bindingName,
    filters: members.filters.optional(),
    last: z.int().min(1).max(100).default(20).describe('How many facts at most, the newest.'),
  }),
  output: z.object({
    filters: z.object({ cel: z.string().exactOptional() }),
    facts: z.array(TriedFact).describe('The newest first.'),
    looked: z.int().describe('Records that were looked through for them.'),
  }),
  example: { agentUid: 'iris', bindingName: 'desk', filters: { cel: "signal.kind == 'entry_received'" }, last: 5 },
  fails: ['agent-forbidden', 'binding-not-found', 'invalid_binding_filter'],
  refusals: { filters: refusals.filters },

  async handle({ filters, last, ...ref }, world) {
    const stored = bindingOf(world, ref);
    const binding = { ...stored, filters: filters ?? stored.filters };
    requireFilter(binding.filters.cel);
    const { facts, looked } = await world.recentFacts(binding.connectionId, last);
    const tried: z.input<typeof TriedFact>[] = [];
    for (const { position, at, fact } of facts) {
      // A heavy filter must not keep other requests waiting for all of its facts.
      await setImmediate();
      const { parts, ...trial } = tryFilter(binding, fact, { at, maxWork: world.filterMaxWork });
      tried.push({ position, at, ...idsOf(fact), ...trial, parts: [...parts] });
    }
    const { cel } = binding.filters;
    return { filters: cel === undefined ? {} : { cel }, facts: tried, looked };
  },
});

const idsOf = (fact: NormalizedFact) => ({
  kind: fact.type,
  signalChannelId: fact.signalChannelId,
  sourceEntryId: fact.sourceEntryId ?? null,
  sourceEventId: fact.sourceEventId,
});

import { z } from 'zod';
import { OutcomeStatus } from '../../schemas/decision.ts';
import type { About } from '../../schemas/define.ts';

const appended = {
  at: z
    .number()
    .exactOptional()
    .describe('When the broker appended it, epoch milliseconds; absent when it has left its topic.'),
  sinceFirstMs: z.number().exactOptional().describe('How long after the first hop.'),
};
const next = z.array(z.lazy(() => Hop)).describe('What came of it.');

/** A record on the way of a fact. `offset` is text, since offsets outgrow the numbers of JSON. */
export interface RecordHop extends z.infer<typeof RecordStep> {
  readonly next: readonly Hop[];
}
const RecordStep = z.object({
  type: z.literal('record'),
  topic: z.string(),
  partition: z.int(),
  offset: z.string(),
  ...appended,
  stage: z.string().exactOptional().describe('The stage that made it.'),
  effect: z.string().exactOptional().describe('The name of the effect; for accepted facts their binding.'),
  redriven: z.literal(true).exactOptional().describe('It was sent again from the dead letter above it.'),
  letter: z
    .object({ code: z.string(), details: z.record(z.string(), z.unknown()) })
    .exactOptional()
    .describe('Why it is here, when it is a dead letter.'),
});

/** The end of a fact's way on one route. */
export interface DecisionHop extends z.infer<typeof DecisionStep> {
  readonly next: readonly Hop[];
}
const DecisionStep = z.object({
  type: z.literal('decision'),
  stage: z.string(),
  status: OutcomeStatus,
  reason: z.string().exactOptional(),
  agentUid: z.string().exactOptional(),
  bindingName: z.string().exactOptional(),
  actorEventId: z.string().exactOptional(),
  topic: z.string().exactOptional().describe('Where the decision itself lies, where it was found.'),
  partition: z.int().exactOptional(),
  offset: z.string().exactOptional(),
  ...appended,
});

/** A record that a stage has not decided on yet. */
export interface WaitingHop extends z.infer<typeof WaitingStep> {
  readonly next: readonly Hop[];
}
const WaitingStep = z.object({
  type: z.literal('waiting'),
  stage: z.string(),
  lag: z.string().describe("The records that the stage's group has not committed in this partition."),
});

/** A step on the way of a fact. */
export const Hop: z.ZodType<Hop> = z
  .discriminatedUnion('type', [
    RecordStep.extend({ next }),
    DecisionStep.extend({ next }),
    WaitingStep.extend({ next }),
  ])
  .meta({ id: 'Hop' });
/** A step on the way of a fact. */
export type Hop = RecordHop | DecisionHop | WaitingHop;

/** The whole way of one fact, as a tree: what came of what. */
export const JourneyReport = z.object({
  rootId: z.string(),
  startedAt: z
    .number()
    .exactOptional()
    .describe('When the first hop was appended; absent when nothing on the way is dated.'),
  endedAt: z.number().exactOptional().describe('When the last one was.'),
  about: z.record(z.string(), z.string()).describe('What all routes of the fact have in common.'),
  dropped: z.int().describe('Decisions past the bound of the journal.'),
  hops: z.array(Hop),
});
/** The whole way of one fact, as a tree: what came of what. */
export type JourneyReport = Readonly<Omit<z.infer<typeof JourneyReport>, 'about' | 'hops'>> & {
  readonly about: About;
  readonly hops: readonly Hop[];
};

import type { OutcomeStatus } from '../../schemas/decision.ts';
import type { About } from '../../schemas/define.ts';

/** A record on the way of a fact. `offset` is text, since offsets outgrow the numbers of JSON. */
export interface RecordHop {
  readonly type: 'record';
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  /** When the broker appended it, and how long after the first hop; absent when the record has left its topic. */
  readonly at?: number;
  readonly sinceFirstMs?: number;
  /** The stage that made it, and the name of the effect: for accepted facts, their binding. */
  readonly stage?: string;
  readonly effect?: string;
  /** Whether it was sent again from the dead letter above it. */
  readonly redriven?: true;
  /** Why it is here, when it is a dead letter. */
  readonly letter?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
  readonly next: readonly Hop[];
}

/** The end of a fact's way on one route. */
export interface DecisionHop {
  readonly type: 'decision';
  readonly stage: string;
  readonly status: OutcomeStatus;
  readonly reason?: string;
  readonly agentUid?: string;
  readonly bindingName?: string;
  readonly actorEventId?: string;
  /** Where the decision itself lies and when it was appended, where it was found. */
  readonly topic?: string;
  readonly partition?: number;
  readonly offset?: string;
  readonly at?: number;
  readonly sinceFirstMs?: number;
  /** What came of it: the actor event, or the dead letter. */
  readonly next: readonly Hop[];
}

/** A record that a stage has not decided on yet. */
export interface WaitingHop {
  readonly type: 'waiting';
  readonly stage: string;
  /** The records that the stage's group has not committed in this partition. */
  readonly lag: string;
  readonly next: readonly Hop[];
}

/** A step on the way of a fact. */
export type Hop = RecordHop | DecisionHop | WaitingHop;

/** The whole way of one fact, as a tree: what came of what. */
export interface JourneyReport {
  readonly rootId: string;
  /** When the first hop was appended; absent when nothing on the way is dated. */
  readonly startedAt?: number;
  /** When the last one was. */
  readonly endedAt?: number;
  readonly about: About;
  /** Decisions past the bound of the journal. */
  readonly dropped: number;
  readonly hops: readonly Hop[];
}

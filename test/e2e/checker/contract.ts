/** The members of the topics' values that the checker reads, as `schemas/json` has them. */

export interface RawFact {
  readonly id?: string;
  readonly connectionId: string;
  readonly eventId?: string;
  readonly event?: string;
  readonly signalChannelId?: string;
  readonly receivedAt: number;
  readonly body: string;
}

export interface Fact {
  readonly type: 'entry_received' | 'entry_lifecycle';
  readonly connectionId: string;
  readonly providerEventId?: string;
  readonly sourceEventId: string;
  readonly signalChannelId: string;
  readonly sourceEntryId: string;
  readonly providerThreadId?: string;
  readonly channel: {
    readonly kind?: string;
    readonly replyMode?: string;
    readonly name?: string;
    readonly visibility?: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly providerTime?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly replyToSourceEntryId?: string;
  readonly title?: string;
  readonly text?: string;
  readonly author?: { readonly id: string };
  readonly links?: readonly unknown[];
  readonly actorEventType?: string;
  readonly mirrorOnly?: boolean;
  readonly edited?: boolean;
  readonly providerLifecycleKind?: string;
  readonly actor?: { readonly id: string };
}

export interface AcceptedFact {
  readonly route: { readonly agentUid: string; readonly bindingName: string; readonly adapter: string };
  readonly fact: Fact;
}

export interface Decision {
  readonly rootId: string;
  readonly stage: string;
  readonly status: string;
  readonly reason?: string;
  readonly at: number;
  readonly from?: string;
  readonly about: Readonly<Partial<Record<string, string>>>;
}

/** A record that should be in the log, once if repeats are dropped. */
export interface Expected {
  readonly topic: string;
  readonly key: string;
  /** Where it comes from; the effect's name is left out where a decision's own number may be anything. */
  readonly source: string;
  readonly value: unknown;
}

/** The parts of a row's or record's key, joined so that no other parts give the same text. */
export const joined = (...parts: readonly string[]): string =>
  parts.map((part) => part.replaceAll('%', '%25').replaceAll('|', '%7C')).join('|');

/** The ids that a fact's decisions carry. */
export const aboutOf = (fact: Fact) => ({
  connectionId: fact.connectionId,
  ...(fact.providerEventId !== undefined && { providerEventId: fact.providerEventId }),
  sourceEventId: fact.sourceEventId,
  signalChannelId: fact.signalChannelId,
  sourceEntryId: fact.sourceEntryId,
});

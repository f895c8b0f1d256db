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
  readonly provider?: string;
  readonly providerEventId?: string;
  readonly sourceEventId: string;
  readonly receivedAt?: number;
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
  readonly author?: { readonly id: string; readonly kind?: string; readonly agentUid?: string };
  readonly links?: readonly unknown[];
  readonly actorEventType?: string;
  readonly mirrorOnly?: boolean;
  readonly edited?: boolean;
  /** When it was first sent, which no later telling changes. */
  readonly sentAt?: number;
  readonly explicit?: boolean;
  readonly mentions?: readonly { readonly kind: string; readonly id?: string; readonly agentUid?: string }[];
  readonly attachments?: readonly object[];
  readonly lifecycleKind?: 'removed';
  readonly providerLifecycleKind?: string;
  readonly actor?: { readonly id: string };
}

/** How long messages wait, in milliseconds, as a binding says it. */
export interface Windows {
  readonly addressedMs: number;
  readonly addressedAttachmentsMs: number;
  readonly addressedLongTextMs: number;
  readonly neutralMs: number;
  readonly ambientMs: number;
  readonly ambientMostMs: number;
}

export interface RouteOfFact {
  readonly agentUid: string;
  readonly bindingName: string;
  readonly adapter: string;
  readonly unaddressedGroupMessagePolicy: string;
  readonly windows?: Windows;
}

export interface AcceptedFact {
  readonly route: RouteOfFact;
  readonly fact: Fact;
}

/** What lies on accepted facts: facts that passed, and what the mirror told itself to do later. */
export type Accepted =
  | (AcceptedFact & { readonly type: 'fact.accepted' | 'entry.addressed' | 'input.changed' })
  | {
      readonly type: 'batch.due';
      readonly route: RouteOfFact;
      readonly signalChannelId: string;
      readonly batchId: string;
      readonly revision: number;
    };

export interface ActorEvent {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly data: {
    readonly session: { readonly agentUid: string; readonly sessionId: string; readonly bindingName: string };
    readonly channel: { readonly id: string };
    readonly entry?: { readonly sourceEntryId: string };
    /** The batch that it was until it closed. */
    readonly inboundBatch?: {
      readonly id: string;
      readonly revision: number;
      readonly sourceEntryIds: readonly string[];
    };
  };
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

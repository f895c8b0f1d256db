import { z } from 'zod';
import { QuotedEntry } from './actor-event.ts';
import { UnaddressedGroupMessagePolicy } from './binding.ts';
import { defineProjection } from './define.ts';
import { SourceEntryId } from './ids.ts';
import { EntryReceived } from './normalized-fact.ts';
import { rowKey } from './row-key.ts';

const instant = z.int().nonnegative();

/** An entry as its batch holds it: the fact as it was told last, and what was found out about it when it came. */
export const BatchEntry = z.object({
  fact: EntryReceived,
  /** The raw fact it goes back to, so that its end can be told there when its batch closes. */
  rootId: z.string().min(1),
  contentHash: z.string(),
  /** When it came first, and when it was told last: a redelivery that says something new moves the second. */
  receivedAt: instant,
  observedAt: instant,
  /** Addressed to the agent by itself, and not by what it follows. */
  explicit: z.boolean(),
  /** An unaddressed group message that names nobody else: it may join what its sender says to the agent. */
  addressable: z.boolean(),
  namesOthers: z.boolean(),
  /** In the mirror already; `ignore` keeps an unaddressed message out of it until its batch wakes the agent. */
  mirrored: z.boolean(),
  /** What it quotes, as it was when the entry came. */
  replyTo: QuotedEntry.optional(),
  bytes: z.int().nonnegative(),
});
export type BatchEntry = z.infer<typeof BatchEntry>;

/** Entries that wait for the rest of what is being said. `revision` counts up by one with each change. */
export const OpenBatch = z.object({
  id: z.string().min(1),
  providerThreadId: z.string().nullable(),
  replyToSourceEntryId: SourceEntryId.nullable(),
  mode: z.enum(['neutral', 'addressed']),
  policy: UnaddressedGroupMessagePolicy,
  /** Whose request it is; null while it addresses nobody. */
  requesterSenderKey: z.string().nullable(),
  /** By the provider's time, else by when they came. */
  entries: z.array(BatchEntry).min(1),
  dueAt: instant,
  revision: z.int().positive(),
});
export type OpenBatch = z.infer<typeof OpenBatch>;

/** A closed batch of several messages as the agent has it: without what was removed since, and with what was edited. */
export const HandedOverBatch = z.object({ batch: OpenBatch });
export type HandedOverBatch = z.infer<typeof HandedOverBatch>;

/** What each actor event of several messages is made of, so that what remains of it can be told when one of them goes. */
export const handedOverBatches = defineProjection({
  name: 'handed-over-batches',
  stage: 'mirror-projector',
  summary: 'The messages of each event that is made of several, as the agent has them.',
  value: HandedOverBatch,
  place: (ref: {
    readonly agentUid: string;
    readonly bindingName: string;
    readonly signalChannelId: string;
    readonly eventId: string;
  }) => ({ key: rowKey(ref.agentUid, ref.bindingName, ref.eventId), owner: ref.signalChannelId }),
});

/** What waits on one route in one channel, one batch for each thread, and which entries the agent was shown of late. */
export const OpenBatches = z.object({ batches: z.array(OpenBatch), shownEntryIds: z.array(SourceEntryId) });
export type OpenBatches = z.infer<typeof OpenBatches>;

/**
 * The open batches of each route in each channel. All threads share a row: a removal need not name the thread of what it
 * removes.
 */
export const openBatches = defineProjection({
  name: 'open-batches',
  stage: 'mirror-projector',
  summary: 'What waits for the rest of what is being said, by route and channel.',
  value: OpenBatches,
  place: (ref: { readonly agentUid: string; readonly bindingName: string; readonly signalChannelId: string }) => ({
    key: rowKey(ref.agentUid, ref.bindingName, ref.signalChannelId),
    owner: ref.signalChannelId,
  }),
});

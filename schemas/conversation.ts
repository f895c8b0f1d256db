import { z } from 'zod';
import { defineProjection } from './define.ts';
import { AgentUid, SourceEntryId } from './ids.ts';
import { Author } from './normalized-fact.ts';
import { rowKey } from './row-key.ts';

const stage = 'mirror-projector';
const instant = z.int().nonnegative();

/** A message of a conversation, as short as the context of an event needs it. */
export const RecentEntry = z.object({
  sourceEntryId: SourceEntryId,
  providerThreadId: z.string().optional(),
  author: Author,
  text: z.string(),
  providerTime: instant.optional(),
  /** When it came first. */
  receivedAt: instant,
});
export type RecentEntry = z.infer<typeof RecentEntry>;

/** The newest mirrored messages of a conversation, oldest first, across its threads. */
export const RecentEntries = z.object({ entries: z.array(RecentEntry) });
export type RecentEntries = z.infer<typeof RecentEntries>;

/** The newest messages of each conversation, all routes alike. */
export const recentEntries = defineProjection({
  name: 'recent-entries',
  stage,
  summary: 'The newest mirrored messages of each conversation, for the context of its events.',
  value: RecentEntries,
  place: (signalChannelId: string) => ({ key: signalChannelId, owner: signalChannelId }),
});

/** The agents of ours that wrote in a thread. */
export const ThreadAgents = z.object({ agentUids: z.array(AgentUid) });
export type ThreadAgents = z.infer<typeof ThreadAgents>;

/** Which agents wrote in each thread: a reply there is said to them. */
export const threadAgents = defineProjection({
  name: 'thread-agents',
  stage,
  summary: 'The agents that wrote in each thread: a reply there addresses them.',
  value: ThreadAgents,
  place: (ref: { readonly signalChannelId: string; readonly providerThreadId: string }) => ({
    key: rowKey(ref.signalChannelId, ref.providerThreadId),
    owner: ref.signalChannelId,
  }),
});

/** How often one program or other agent woke an agent in a channel since an instant. */
export const PairWakes = z.object({ since: instant, wakes: z.int().positive() });
export type PairWakes = z.infer<typeof PairWakes>;

/** What tells two programs that keep waking each other from a conversation. */
export const pairWakes = defineProjection({
  name: 'pair-wakes',
  stage,
  summary: 'How often each program woke an agent in a channel of late, so that two of them cannot go on for ever.',
  value: PairWakes,
  place: (ref: { readonly agentUid: string; readonly signalChannelId: string; readonly senderKey: string }) => ({
    key: rowKey(ref.agentUid, ref.signalChannelId, ref.senderKey),
    owner: ref.signalChannelId,
  }),
});

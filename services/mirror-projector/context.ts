import type { OpenBatch } from '../../schemas/batch.ts';
import type { RecentEntry } from '../../schemas/conversation.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';

/** Most messages of an event's context, and most tokens of their texts. */
const contextMessages = 20;
const contextTokens = 2_000;
/** Kept of a conversation: enough that twenty remain once those of a batch and those that were shown are left out. */
const keptMessages = 60;
const keptCharacters = 60_000;
const maxTextLength = 8_000;

/** The newest messages with one more of them, or with another telling of one; the same list where it tells nothing new. */
export function rememberEntry(recent: readonly RecentEntry[], fact: EntryReceived, at: number): readonly RecentEntry[] {
  const known = recent.findIndex(({ sourceEntryId }) => sourceEntryId === fact.sourceEntryId);
  const entry: RecentEntry = {
    sourceEntryId: fact.sourceEntryId,
    ...(fact.providerThreadId !== undefined && { providerThreadId: fact.providerThreadId }),
    author: fact.author,
    text: (fact.text ?? '').slice(0, maxTextLength).toWellFormed(),
    ...(fact.providerTime !== undefined && { providerTime: fact.providerTime }),
    receivedAt: recent[known]?.receivedAt ?? at,
  };
  // Each route tells it, and the row is large.
  if (known !== -1 && JSON.stringify(entry) === JSON.stringify(recent[known])) return recent;
  const all = known === -1 ? [...recent, entry].slice(-keptMessages) : recent.with(known, entry);
  let characters = 0;
  const from = all.findLastIndex(({ text }) => {
    characters += text.length;
    return characters > keptCharacters;
  });
  return all.slice(from + 1);
}

/** The messages without one that is gone. */
export const forgetEntry = (recent: readonly RecentEntry[], sourceEntryId: string): RecentEntry[] =>
  recent.filter((each) => each.sourceEntryId !== sourceEntryId);

/** About as many tokens as a model counts: four signs of Latin writing make one, a sign of any other is one. */
export function tokensOf(text: string): number {
  let plain = 0;
  let other = 0;
  for (const sign of text) sign < '\u0100' ? plain++ : other++;
  return Math.ceil(plain / 4) + other;
}

/** What was said in a conversation before a batch, oldest first; nothing of the batch itself. */
function before(recent: readonly RecentEntry[], batch: OpenBatch): readonly RecentEntry[] {
  const own = new Set(batch.entries.map(({ fact }) => fact.sourceEntryId));
  const first = Math.min(...batch.entries.map(({ receivedAt }) => receivedAt));
  return recent.filter(({ sourceEntryId, receivedAt }) => !own.has(sourceEntryId) && receivedAt <= first);
}

/**
 * What the agent should know of a conversation beside what it is asked: the newest messages that its own history does not
 * show, which are those that neither it wrote nor an earlier event held.
 */
export function contextOf(
  recent: readonly RecentEntry[],
  batch: OpenBatch,
  agent: { readonly agentUid: string; readonly shownEntryIds: readonly string[] },
): readonly RecentEntry[] {
  const shown = new Set(agent.shownEntryIds);
  const unseen = before(recent, batch)
    .filter(({ sourceEntryId, author }) => !shown.has(sourceEntryId) && author.agentUid !== agent.agentUid)
    .slice(-contextMessages);
  let tokens = 0;
  const from = unseen.findLastIndex(({ text }) => {
    tokens += tokensOf(text);
    return tokens > contextTokens;
  });
  return unseen.slice(from + 1);
}

/** What people said before a batch and after the agent's last word: nobody has answered it yet. */
export function unrepliedOf(
  recent: readonly RecentEntry[],
  batch: OpenBatch,
  agentUid: string,
): readonly RecentEntry[] {
  const said = before(recent, batch);
  const answered = said.findLastIndex(({ author }) => author.agentUid === agentUid);
  return said
    .slice(answered + 1)
    .filter(({ author }) => author.agentUid === undefined && author.kind !== 'bot' && author.kind !== 'app')
    .slice(-contextMessages);
}

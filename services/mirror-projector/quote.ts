import type { QuotedEntry } from '../../schemas/actor-event.ts';
import type { OpenBatch } from '../../schemas/batch.ts';
import type { Entry } from '../../schemas/mirror.ts';
import type { Author, EntryReceived } from '../../schemas/normalized-fact.ts';

/** A quote is there to be recognised: of a very long text its beginning does. */
const maxTextLength = 8_000;

/** What is known of the entry that another one replies to. */
export interface Quotable {
  readonly open: readonly OpenBatch[];
  readonly mirrored: Entry | undefined;
  /** The route itself was given the entry, so its files are no other route's. */
  readonly ownRoute: boolean;
}

/** The author of what an entry replies to, where it is known. */
export const quotedAuthor = (fact: EntryReceived, { open, mirrored }: Quotable): Author | undefined =>
  (heldBy(open, fact.replyToSourceEntryId) ?? mirrored)?.author;

/** What an entry replies to, as it is now: later changes of it do not change what was quoted. */
export function quoteOf(fact: EntryReceived, agentUid: string, known: Quotable): QuotedEntry | undefined {
  const sourceEntryId = fact.replyToSourceEntryId;
  if (sourceEntryId === undefined) return undefined;
  const held = heldBy(known.open, sourceEntryId);
  const quoted = held ?? known.mirrored;
  if (quoted === undefined) return { sourceEntryId, resolution: 'unresolved' };

  const { author, text, attachments = [], links = [] } = quoted;
  const ownFiles = held !== undefined || known.ownRoute || author.agentUid === agentUid;
  const providerTime = quoted.providerTime ?? undefined;
  return {
    sourceEntryId,
    resolution: 'resolved',
    role: author.agentUid === undefined ? 'human' : 'agent',
    author,
    ...(typeof text === 'string' && { text: text.slice(0, maxTextLength).toWellFormed() }),
    ...(ownFiles && attachments.length > 0 && { attachments }),
    ...(links.length > 0 && { links }),
    ...(providerTime !== undefined && { providerTime: new Date(providerTime).toISOString() }),
  };
}

const heldBy = (open: readonly OpenBatch[], sourceEntryId: string | undefined): EntryReceived | undefined =>
  open.flatMap(({ entries }) => entries).find(({ fact }) => fact.sourceEntryId === sourceEntryId)?.fact;

import type { OpenBatch } from '../../../schemas/batch.ts';
import type { EntryLifecycle, EntryReceived } from '../../../schemas/normalized-fact.ts';
import { entryOf } from '../entry.ts';

/** What remains of a batch without one of its entries, if anything does. What was asked stays asked, and of whom. */
export function withoutRemoved(batch: OpenBatch, { sourceEntryId }: EntryLifecycle): OpenBatch | undefined {
  const entries = batch.entries.filter(({ fact }) => fact.sourceEntryId !== sourceEntryId);
  return entries.length === 0 ? undefined : changed(batch, entries);
}

/** A batch with one of its entries as an edit shows it, in its old place and with what it quoted then. */
export function withEdit(batch: OpenBatch, fact: EntryReceived, at: number): OpenBatch {
  const { contentHash } = entryOf(fact, undefined, at);
  return changed(
    batch,
    batch.entries.map((entry) =>
      entry.fact.sourceEntryId === fact.sourceEntryId ? { ...entry, fact, contentHash, observedAt: at } : entry,
    ),
  );
}

const changed = (batch: OpenBatch, entries: OpenBatch['entries']): OpenBatch => ({
  ...batch,
  entries,
  revision: batch.revision + 1,
});

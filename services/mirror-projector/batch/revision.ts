import type { BatchEntry, OpenBatch } from '../../../schemas/batch.ts';

/** The order within a batch: by the provider's time, else by when it was sent or came. */
export const inOrder = (entries: readonly BatchEntry[]): OpenBatch['entries'] =>
  entries.toSorted(
    (a, b) =>
      timeOf(a) - timeOf(b) ||
      a.receivedAt - b.receivedAt ||
      (a.fact.sourceEntryId < b.fact.sourceEntryId ? -1 : a.fact.sourceEntryId > b.fact.sourceEntryId ? 1 : 0),
  );

// By the first of them: an edit is no reason to move a message behind those that were sent after it.
const timeOf = ({ fact, receivedAt }: BatchEntry): number => fact.sentAt ?? fact.providerTime ?? receivedAt;

/** Whether a batch's entry gives way to another telling of it. One that has a provider's time is newer than one without. */
export function isNewer(told: BatchEntry, held: BatchEntry): boolean {
  const [now, before] = [told.fact.providerTime, held.fact.providerTime];
  if (now !== before) return before === undefined || (now !== undefined && now > before);
  return told.contentHash !== held.contentHash;
}

import type { BatchEntry, OpenBatch } from '../../../schemas/batch.ts';
import type { BatchWindows, UnaddressedGroupMessagePolicy } from '../../../schemas/binding.ts';
import { senderKeyOf } from '../../../schemas/normalized-fact.ts';
import { inOrder, isNewer } from './revision.ts';
import { lengthOf } from './text-length.ts';
import { dueAtOf, longText } from './window.ts';

/** What decides on an entry beside the batches that are open. */
export interface Routing {
  readonly at: number;
  /** The id of the batch that is opened for it, if one is. */
  readonly newId: string;
  readonly policy: UnaddressedGroupMessagePolicy;
  readonly windows: BatchWindows | undefined;
  readonly limits: Limits;
  /** Addressed to the agent: explicit in a group, or any message of a DM. */
  readonly addressed: boolean;
}

/** What keeps a row of open batches small. */
export interface Limits {
  readonly maxBatchEntries: number;
  readonly maxBatchBytes: number;
}

/** The batches after an entry came: those still open, those that it closed, in order, and the one that holds it. */
export interface Routed {
  readonly open: readonly OpenBatch[];
  readonly closed: readonly OpenBatch[];
  readonly holds: OpenBatch;
  /** False where the batch knew this telling of it already, or a newer one. */
  readonly changed: boolean;
}

/** Most entries of an addressed batch, and most characters: twice as many where a long text is among the last two. */
const maxEntries = 8;
const maxCharacters = 4_000;
const maxCharactersOfLongTexts = 8_000;
/** A row holds as much as this many full batches; beyond it the batch that is due first closes early. */
const fullBatchesOfRow = 4;

/** Puts an entry into the batch of its thread, and closes what its coming closes. */
export function routeEntry(before: readonly OpenBatch[], entry: BatchEntry, routing: Routing): Routed {
  const due = before.filter(({ dueAt }) => dueAt <= routing.at).toSorted((a, b) => a.dueAt - b.dueAt);
  const open = before.filter((batch) => !due.includes(batch));
  const holds = (batch: OpenBatch): boolean => batch.entries.some((held) => isSame(held, entry));
  // Its time was up before this telling came: what it was handed over as stands.
  const past = due.find(holds);
  if (past !== undefined) return { open, closed: due, holds: past, changed: false };
  const holder = open.find(holds);
  if (holder === undefined) return bounded(open, due, route(open, entry, routing), routing.limits);

  const held = holder.entries.find((each) => isSame(each, entry));
  if (held === undefined || !isNewer(entry, held)) return { open, closed: due, holds: holder, changed: false };
  if (staysPut(entry, held)) {
    const entries = holder.entries.map((each) =>
      each === held ? { ...entry, receivedAt: held.receivedAt, mirrored: held.mirrored || entry.mirrored } : each,
    );
    return bounded(open, due, { closed: [], holds: changed(holder, entries, routing.windows) }, routing.limits);
  }
  // Told anew it says something else to somebody else, so it goes where a new entry would.
  const rest = withoutEntry(open, entry.fact.sourceEntryId, { windows: routing.windows }).open;
  const moved = { ...entry, receivedAt: held.receivedAt, mirrored: held.mirrored || entry.mirrored };
  return bounded(rest, due, route(rest, moved, routing), routing.limits);
}

/** Takes an entry out of the batch that holds it; the last one of a batch takes the batch with it. */
export function withoutEntry(
  before: readonly OpenBatch[],
  sourceEntryId: string,
  options: { readonly windows: BatchWindows | undefined; readonly providerThreadId?: string | undefined },
): {
  readonly open: readonly OpenBatch[];
  /** The batch as it is without the entry. */
  readonly remains?: OpenBatch;
  readonly canceled?: OpenBatch;
} {
  const holder = before.find(
    ({ providerThreadId, entries }) =>
      (options.providerThreadId === undefined || options.providerThreadId === providerThreadId) &&
      entries.some(({ fact }) => fact.sourceEntryId === sourceEntryId),
  );
  if (holder === undefined) return { open: before };
  const entries = holder.entries.filter(({ fact }) => fact.sourceEntryId !== sourceEntryId);
  const last = entries.at(-1);
  if (last === undefined) return { open: before.filter((batch) => batch !== holder), canceled: holder };
  const addressed = holder.mode === 'addressed' && entries.some(({ explicit }) => explicit);
  const remains = changed(
    {
      ...holder,
      mode: addressed ? 'addressed' : 'neutral',
      requesterSenderKey: addressed ? holder.requesterSenderKey : null,
      replyToSourceEntryId: last.fact.replyToSourceEntryId ?? null,
    },
    entries,
    options.windows,
  );
  return { open: before.map((batch) => (batch === holder ? remains : batch)), remains };
}

interface Step {
  readonly closed: readonly OpenBatch[];
  readonly holds: OpenBatch;
}

/** The routing table of the specification, for an entry that no batch holds. */
function route(open: readonly OpenBatch[], entry: BatchEntry, routing: Routing): Step {
  const { addressed, windows, limits } = routing;
  const sender = senderKeyOf(entry.fact);
  const batch = open.find(({ providerThreadId }) => providerThreadId === (entry.fact.providerThreadId ?? null));
  const start = (mode: OpenBatch['mode'], entries: readonly BatchEntry[] = [entry]): OpenBatch =>
    opened(routing, mode, mode === 'addressed' ? sender : null, entries);
  const join = (): Step => ({
    closed: [],
    holds: changed(batch ?? start('neutral'), [...(batch?.entries ?? []), entry], windows),
  });

  if (batch === undefined) return { closed: [], holds: start(addressed ? 'addressed' : 'neutral') };
  if (batch.replyToSourceEntryId !== (entry.fact.replyToSourceEntryId ?? null)) {
    return { closed: [batch], holds: start(addressed ? 'addressed' : 'neutral') };
  }

  if (batch.mode === 'addressed') {
    const follows = batch.requesterSenderKey === sender && !entry.namesOthers && (addressed || entry.addressable);
    if (!follows) return { closed: [batch], holds: start(addressed ? 'addressed' : 'neutral') };
    // What only its size parts from a request is still said to the agent.
    return isFull(batch, entry, limits) ? { closed: [batch], holds: start('addressed') } : join();
  }

  if (!addressed) {
    const overfull =
      batch.entries.length >= limits.maxBatchEntries || bytesOf(batch) + entry.bytes > limits.maxBatchBytes;
    return overfull ? { closed: [batch], holds: start('neutral') } : join();
  }

  const others = batch.entries.findLastIndex((each) => !each.addressable || senderKeyOf(each.fact) !== sender);
  const run = batch.entries.slice(others + 1);
  if (others === -1) {
    const upgraded = { ...batch, mode: 'addressed' as const, requesterSenderKey: sender };
    return { closed: [], holds: changed(upgraded, [...run, entry], windows) };
  }
  const [first, ...more] = batch.entries.slice(0, others + 1);
  const prefix = first === undefined ? [] : [{ ...batch, entries: [first, ...more], revision: batch.revision + 1 }];
  return { closed: prefix, holds: start('addressed', [...run, entry]) };
}

/** The batches with the one that was touched in its place, and no more of them than a row may hold. */
function bounded(before: readonly OpenBatch[], due: readonly OpenBatch[], step: Step, limits: Limits): Routed {
  const { holds } = step;
  // A thread has one batch: the one that holds the entry now stands for whatever was open there.
  const others = before.filter(({ providerThreadId }) => providerThreadId !== holds.providerThreadId);
  const early: OpenBatch[] = [];
  let bytes = bytesOf(holds) + others.reduce((sum, batch) => sum + bytesOf(batch), 0);
  const byDue = others.toSorted((a, b) => a.dueAt - b.dueAt);
  while (bytes > fullBatchesOfRow * limits.maxBatchBytes) {
    const next = byDue.shift();
    if (next === undefined) break;
    early.push(next);
    bytes -= bytesOf(next);
  }
  const open = [...others.filter((batch) => !early.includes(batch)), holds];
  return { open, closed: [...due, ...early, ...step.closed], holds, changed: true };
}

function opened(
  { newId, policy, windows }: Routing,
  mode: OpenBatch['mode'],
  requesterSenderKey: string | null,
  entries: readonly BatchEntry[],
): OpenBatch {
  const ordered = inOrder(entries);
  const last = entries.at(-1);
  return {
    id: newId,
    providerThreadId: last?.fact.providerThreadId ?? null,
    replyToSourceEntryId: last?.fact.replyToSourceEntryId ?? null,
    mode,
    policy,
    requesterSenderKey,
    entries: ordered,
    dueAt: dueAtOf({ mode, policy, entries: ordered }, windows),
    revision: 1,
  };
}

function changed(batch: OpenBatch, entries: readonly BatchEntry[], windows: BatchWindows | undefined): OpenBatch {
  const next = { ...batch, entries: inOrder(entries), revision: batch.revision + 1 };
  return { ...next, dueAt: dueAtOf(next, windows) };
}

/** Whether an addressed batch takes no more. Its first entry is never refused, however large. */
function isFull(batch: OpenBatch, entry: BatchEntry, limits: Limits): boolean {
  if (batch.entries.length >= maxEntries) return true;
  if (bytesOf(batch) + entry.bytes > limits.maxBatchBytes) return true;
  const lengths = [...batch.entries, entry].map(({ fact }) => lengthOf(fact.text));
  const long = lengths.slice(-2).some((length) => length >= longText);
  return lengths.reduce((sum, length) => sum + length, 0) > (long ? maxCharactersOfLongTexts : maxCharacters);
}

const bytesOf = (batch: OpenBatch): number => batch.entries.reduce((sum, { bytes }) => sum + bytes, 0);

const isSame = (a: BatchEntry, b: BatchEntry): boolean => a.fact.sourceEntryId === b.fact.sourceEntryId;

/** Whether another telling of an entry leaves it to the same batch: same thread, same target, addressed as before. */
const staysPut = (told: BatchEntry, held: BatchEntry): boolean =>
  told.explicit === held.explicit &&
  told.namesOthers === held.namesOthers &&
  told.addressable === held.addressable &&
  told.fact.providerThreadId === held.fact.providerThreadId &&
  told.fact.replyToSourceEntryId === held.fact.replyToSourceEntryId &&
  senderKeyOf(told.fact) === senderKeyOf(held.fact);

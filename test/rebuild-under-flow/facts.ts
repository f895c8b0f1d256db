/** An accepted fact and the key that it is published under. */
export interface AcceptedRecord {
  readonly key: string;
  readonly fact: unknown;
}

/** Names one entry. */
export interface EntryName {
  readonly signalChannelId: string;
  readonly sourceEntryId: string;
}

const epoch = Date.parse('2031-02-28T06:00:00Z');
// A prime, so that whatever is chosen at equal steps lies in all of them.
const channels = 499;

const channelOf = (mark: string, number: number): string => `github:e2e/${mark}#${1 + (number % channels)}`;

/** The number-th entry of a load. */
export const entryOf = (mark: string, number: number): EntryName => ({
  signalChannelId: channelOf(mark, number),
  sourceEntryId: `issue_comment:${1_000 + number}`,
});

/** The provider's time of a revision of an entry: later for each one. */
export const timeOf = (number: number, revision: number): number => epoch + number * 1_000 + revision * 60_000;

function recordOf(mark: string, number: number, fact: object, event: string): AcceptedRecord {
  const { signalChannelId, sourceEntryId } = entryOf(mark, number);
  const route = {
    ...{ agentUid: `${mark}-a`, bindingName: 'all', adapter: 'github' },
    unaddressedGroupMessagePolicy: 'record_only',
  };
  const about = {
    ...{ connectionId: mark, provider: 'github', providerEventId: event, sourceEventId: event },
    ...{ signalChannelId, sourceEntryId, receivedAt: epoch + number },
    channel: { kind: 'issue', replyMode: 'channel', name: signalChannelId },
  };
  return { key: signalChannelId, fact: { type: 'fact.accepted', route, fact: { ...about, ...fact } } };
}

/** A revision of an entry, as the filter would let it pass; the first one writes it. */
export const written = (mark: string, number: number, revision: number): AcceptedRecord =>
  recordOf(
    mark,
    number,
    {
      type: 'entry_received',
      providerTime: timeOf(number, revision),
      text: `There is a bug in the third line, and the fourth one looks odd too. Fact ${number}, revision ${revision}.`,
      author: { id: String(number % 50), displayName: `user-${number % 50}`, kind: 'user' },
      actorEventType: `github.issue_comment.${revision === 0 ? 'created' : 'edited'}`,
    },
    `${mark}-event-${number}-${revision}`,
  );

/** The end of an entry. */
const removed = (mark: string, number: number): AcceptedRecord =>
  recordOf(
    mark,
    number,
    { type: 'entry_lifecycle', lifecycleKind: 'removed', providerLifecycleKind: 'deleted' },
    `${mark}-event-${number}-removed`,
  );

/** Of twenty numbers these, which say what becomes of their entries later in the load. */
const [edited, removedLater, toldAgain] = [3, 7, 5];
/** And these, of which the load says no more. */
export const [steadyNumbers, freeNumbers] = [1, 9];
const cycle = 20;

/**
 * So many records for a mirror. Most write an entry of their own; of twenty, one edits an entry of some cycles before, one
 * removes one, and one tells an event again.
 */
export function* acceptedFacts(mark: string, count: number): Generator<AcceptedRecord> {
  for (let number = 0; number < count; number++) {
    const [kind, before] = [number % cycle, number - (number % cycle) - 2 * cycle];
    if (kind === 16 && before >= 0) yield written(mark, before + edited, 1);
    else if (kind === 17 && before >= 0) yield removed(mark, before + removedLater);
    else if (kind === 18 && before >= 0) yield written(mark, before + toldAgain, 0);
    else yield written(mark, number, 0);
  }
}

/** So many entries of a load, spread over it, that have one number in their cycle. */
export function spread(number: number, { count, wanted }: { readonly count: number; readonly wanted: number }) {
  const cycles = Math.floor(count / cycle);
  const chosen = Math.min(wanted, cycles);
  return Array.from({ length: chosen }, (_, index) => Math.floor((index * cycles) / chosen) * cycle + number);
}

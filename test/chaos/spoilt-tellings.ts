import type { Snapshot } from '../e2e/checker/check.ts';
import type { ActorEvent, Decision } from '../e2e/checker/contract.ts';
import { type LogRecord, placeOf } from '../e2e/checker/log.ts';

/** One thing that is wrong with what the log tells of conversations. */
interface Spoilt {
  readonly what: string;
  /** Changes the first record that can be wrong so. */
  readonly spoil: (told: Snapshot) => Snapshot;
  /** What the check has to say of it. */
  readonly problem: RegExp;
}

type Change = (record: LogRecord) => readonly LogRecord[] | undefined;

/** The snapshot with the first record of a topic changed that can be. */
function changed(told: Snapshot, topic: string, change: Change): Snapshot {
  let isDone = false;
  const records = told.log.get(topic)?.flatMap((record) => {
    const instead = isDone || record.value === undefined ? undefined : change(record);
    isDone ||= instead !== undefined;
    return instead ?? [record];
  });
  if (!isDone) throw new RangeError(`nothing of ${topic} can be changed so`);
  return { ...told, log: new Map([...told.log, [topic, records ?? []]]) };
}

/** The same with an event that gathers messages. */
const event = (change: Change) => (told: Snapshot) =>
  changed(told, 'actor-events', (record) => eventIn(record).data.inboundBatch && change(record));

/** The same with one that a timer brought about. */
const dueEvent = (change: Change) => (told: Snapshot) =>
  event((record) => (isByTimer(told, record) ? change(record) : undefined))(told);

/** The same with the end of a fact, and with the word that a message was handed over. */
const end = (change: Change) => (told: Snapshot) =>
  changed(told, 'decisions', (record) => {
    const { status, about } = decisionIn(record);
    return about.sourceEntryId === undefined || status === 'handed_over' ? undefined : change(record);
  });
const handOver = (change: Change) => (told: Snapshot) =>
  changed(told, 'decisions', (record) => (decisionIn(record).status === 'handed_over' ? change(record) : undefined));

// The contracts of the topics.
const eventIn = ({ value }: LogRecord) => value as ActorEvent;
const decisionIn = ({ value }: LogRecord) => value as Decision;

const isByTimer = ({ log }: Snapshot, { from = '' }: LogRecord): boolean =>
  log.get('accepted-facts')?.find((each) => from.startsWith(`${placeOf(each)}/`))?.timerId !== undefined;

const again: Change = (record) => [record, { ...record, from: `${record.from}-again` }];
const missing: Change = () => [];

const withBatch = (record: LogRecord, more: Partial<ActorEvent['data']['inboundBatch']>): readonly LogRecord[] => {
  const { data, ...envelope } = eventIn(record);
  return [{ ...record, value: { ...envelope, data: { ...data, inboundBatch: { ...data.inboundBatch, ...more } } } }];
};

/** What the check of conversations has to see, each alone. */
export const spoiltTellings: readonly Spoilt[] = [
  { what: 'an event that is missing', spoil: event(missing), problem: /there is no such event/ },
  { what: 'a batch that became two events', spoil: event(again), problem: /became 2 events/ },
  {
    what: 'messages of an event that are out of order',
    spoil: event((record) => {
      const ids = eventIn(record).data.inboundBatch?.sourceEntryIds ?? [];
      return ids.length < 2 ? undefined : withBatch(record, { sourceEntryIds: ids.toReversed() });
    }),
    problem: /out of order/,
  },
  {
    what: 'an event from before its batch was due',
    spoil: dueEvent((record) => [{ ...record, value: { ...eventIn(record), time: new Date(0).toISOString() } }]),
    problem: /is of 1970-.* before/,
  },
  {
    what: 'a batch that the timer of another closed',
    spoil: dueEvent((record) => withBatch(record, { revision: 99 })),
    problem: /another's timer/,
  },
  {
    what: 'an event that comes from a repeat',
    spoil: event((record) => [{ ...record, from: 'accepted-facts/0/9999999/0' }]),
    problem: /a repeat/,
  },
  { what: 'a fact without an end', spoil: end(missing), problem: / has 0 ends/ },
  { what: 'a fact with two ends', spoil: end(again), problem: / has 2 ends/ },
  { what: 'a message that was handed over unheard', spoil: handOver(missing), problem: /told 0 times/ },
  { what: 'a message that was handed over twice', spoil: handOver(again), problem: /told 2 times/ },
];

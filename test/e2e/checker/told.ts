import type { Accepted, ActorEvent, Decision, Fact, RawFact } from './contract.ts';
import { firstAppearances, type Log, type LogRecord, withTimes } from './log.ts';

/** A record whose value is known. */
export interface Read<V> {
  readonly record: LogRecord;
  readonly value: V;
}

/** What the log tells of conversations, repeats included. */
export interface Told {
  readonly raws: readonly Read<RawFact>[];
  readonly facts: readonly Read<Fact>[];
  readonly accepted: readonly Read<Accepted>[];
  readonly events: readonly Read<ActorEvent>[];
  readonly decided: readonly Read<Decision>[];
}

/** Reads what the log tells of the conversations of a load. */
export function toldOf(log: Log, mark: string): Told {
  const read = <V>(topic: string, channelOf: (value: V) => string | undefined): readonly Read<V>[] =>
    withTimes(log.get(topic) ?? []).flatMap((record) => {
      // The contract of each topic says what its values hold; what concerns nobody was not read.
      const value = record.value as V | undefined;
      return value !== undefined && channelOf(value)?.includes(mark) === true ? [{ record, value }] : [];
    });
  return {
    raws: read<RawFact>('raw-provider-facts', (raw) => raw.signalChannelId),
    facts: read<Fact>('normalized-facts', (fact) => fact.signalChannelId),
    accepted: read<Accepted>('accepted-facts', channelOfAccepted),
    events: read<ActorEvent>('actor-events', (event) => event.data.channel.id),
    decided: read<Decision>('decisions', ({ about }) => about.signalChannelId),
  };
}

/** The same as a reader sees it who drops what comes again. */
export const firstTold = ({ raws, facts, accepted, events, decided }: Told): Told => ({
  raws,
  facts: firsts(facts),
  accepted: firsts(accepted),
  events: firsts(events),
  decided: firsts(decided),
});

const firsts = <V>(all: readonly Read<V>[]): readonly Read<V>[] => {
  const kept = new Set(firstAppearances(recordsOf(all)));
  return all.filter(({ record }) => kept.has(record));
};

/** The conversation that an accepted fact, or a timer beside them, belongs to. */
export const channelOfAccepted = (accepted: Accepted): string =>
  accepted.type === 'batch.due' ? accepted.signalChannelId : accepted.fact.signalChannelId;

/** Their records alone. */
export const recordsOf = (all: readonly Read<unknown>[]): readonly LogRecord[] => all.map(({ record }) => record);

/** The record that one was made from. */
export const sourceOf = ({ from = '' }: LogRecord): string => from.split('/', 3).join('/');

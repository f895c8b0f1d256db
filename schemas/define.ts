import type { z } from 'zod';

/** What a record is about, for `signalbox why`: ids only, never content. */
export interface About {
  readonly connectionId?: string;
  readonly providerEventId?: string;
  readonly sourceEventId?: string;
  readonly signalChannelId?: string;
  readonly sourceEntryId?: string;
  readonly agentUid?: string;
  readonly bindingName?: string;
  readonly actorEventId?: string;
}

/** How long a topic keeps its records: days, for ever, or the newest of each key. */
export type Keep = { readonly days: number } | 'forever' | 'compacted';

/**
 * A topic of the bus: what its values are, what orders them and how long they stay. Its functions are written as methods,
 * so that a topic of anything can stand in a list of topics.
 */
export interface Topic<V = unknown> {
  readonly name: string;
  readonly summary: string;
  readonly value: z.ZodType<V>;
  /** The key that orders its records: equal keys share a partition. */
  key(value: V): string;
  readonly keep: Keep;
  readonly example: V;
  /** The record's own id, where its value carries one; else its id is derived. */
  id?(value: V): string | undefined;
  about?(value: V): About;
  /** The largest record batch in bytes; the broker's default when absent. */
  readonly maxBytes?: number | undefined;
  /** Compacted topics only: a second key, by which a table can be searched. */
  index?(value: V): string;
}

/** Declares a topic and gives it back unchanged, typed. */
export function defineTopic<V>(topic: Topic<V>): Topic<V> {
  return topic;
}

/** One row of a projection, as its stage names it. Without an owner, each partition has a row of its own by this key. */
export interface StagePlace<V = unknown> {
  readonly projection: Projection<V>;
  readonly key: string;
  readonly owner?: string;
}

/** One row of a projection. `owner` is the key of the stage's input topic that orders its writes, and tells where it lies. */
export interface Place<V = unknown> extends StagePlace<V> {
  readonly owner: string;
}

/** A projection that a stage keeps in the store. */
export interface Projection<V = unknown> {
  readonly name: string;
  /** The stage that writes it. */
  readonly stage: string;
  readonly summary: string;
  readonly value: z.ZodType<V>;
}

/** Declares a projection; `at` names one of its rows and the key that owns it. */
export function defineProjection<V, Ref>(
  projection: Projection<V> & { readonly place: (ref: Ref) => { readonly key: string; readonly owner: string } },
): Projection<V> & { readonly at: (ref: Ref) => Place<V> } {
  const { place, ...declared } = projection;
  const made = { ...declared, at: (ref: Ref): Place<V> => ({ projection: made, ...place(ref) }) };
  return made;
}

/**
 * Declares a projection of which each partition keeps rows of its own; `at` names one. For what a stage notes of the records
 * of a partition, whatever their keys: also of those that were published to another partition than their key belongs to.
 */
export function defineLocalProjection<V>(
  projection: Projection<V>,
): Projection<V> & { readonly at: (key: string) => StagePlace<V> } {
  const made = { ...projection, at: (key: string): StagePlace<V> => ({ projection: made, key }) };
  return made;
}

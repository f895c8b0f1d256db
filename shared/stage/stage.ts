import type { StagePlace, Topic } from '../../schemas/define.ts';
import type { ConfigDeclaration } from '../config.ts';
import type { MetricsDeclaration } from '../metrics.ts';
import type { Effect } from './effects.ts';
import type { Message } from './message.ts';

/** A compacted topic, read whole. */
export interface Table<V> {
  readonly get: (key: string) => V | undefined;
  /** The values whose index (declared by the topic) is this key, in the order of their keys. */
  readonly by: (index: string) => readonly V[];
  readonly all: () => readonly V[];
}

/** The places that a decision reads, by the names it gives them. */
export type Reads = Readonly<Record<string, StagePlace>>;

/** The compacted topics that a stage reads whole, by the names it gives them. */
export type Tables = Readonly<Record<string, Topic>>;

/** What `decide` sees: a value or undefined for each place, a table for each compacted topic. */
export type View<R extends Reads, T extends Tables> = {
  readonly [K in keyof R]: NonNullable<R[K]> extends StagePlace<infer V> ? V | undefined : never;
} & { readonly [K in keyof T]: T[K] extends Topic<infer V> ? Table<V> : never };

/** A stage: one input topic, a pure decision, and what it reads and writes. */
export interface Stage<In, R extends Reads, T extends Tables, Settings> {
  readonly name: string;
  readonly summary: string;
  readonly input: Topic<In>;
  readonly outputs: readonly Topic[];
  readonly tables?: T;
  readonly config: ConfigDeclaration<Settings>;
  readonly metrics?: MetricsDeclaration<In>;
  readonly reads: (value: In) => R;
  /** Pure: no clock, no randomness, no I/O, no logging. */
  readonly decide: (view: View<R, T>, message: Message<In>, settings: Settings) => readonly Effect[];
}

/** A stage whose types were forgotten, as the shell and the generators carry it. */
// The shell hands `decide` only what the stage's own declarations describe, so the wider types are safe there.
// biome-ignore lint/suspicious/noExplicitAny: the one place where the four type parameters are forgotten
export type AnyStage = Stage<any, any, any, any>;

/** Declares a stage and gives it back unchanged, typed. */
export function defineStage<In, R extends Reads, T extends Tables, Settings>(
  stage: Stage<In, R, T, Settings>,
): Stage<In, R, T, Settings> {
  return stage;
}

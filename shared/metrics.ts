import type { Effect } from './stage/effects.ts';
import type { Message } from './stage/message.ts';

/** What a metric is made of: a message and what was decided on it. */
export interface Measured<In> {
  readonly message: Message<In>;
  readonly effects: readonly Effect[];
}

/** A counter: +1 for each message, under labels from closed sets; undefined counts nothing. */
export interface Counter<In> {
  readonly type: 'counter';
  readonly help: string;
  readonly labels: (measured: Measured<In>) => Readonly<Record<string, string>> | undefined;
}

/** The metrics of a folder, by name (`…_total`). */
export type MetricsDeclaration<In> = Readonly<Record<string, Counter<In>>>;

/** Declares a counter. */
export const counter = <In>(help: string, labels: Counter<In>['labels']): Counter<In> => ({
  type: 'counter',
  help,
  labels,
});

/** Declares the metrics of a folder. */
export const defineMetrics = <In>(metrics: MetricsDeclaration<In>): MetricsDeclaration<In> => metrics;

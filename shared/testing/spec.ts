import { expect } from 'vitest';
import type { Topic } from '../../schemas/define.ts';
import type { Effect } from '../stage/effects.ts';
import type { Message } from '../stage/message.ts';
import type { Reads, Stage, Tables, View } from '../stage/stage.ts';
import { tableOf } from './table.ts';

/** The view of a test: values for the places that exist, plain arrays for tables; what is left out is absent or empty. */
export type GivenView<R extends Reads, T extends Tables> = {
  readonly [K in keyof R]?: View<R, Tables>[K];
} & (string extends keyof T
  ? unknown
  : { readonly [K in keyof T]?: T[K] extends Topic<infer V> ? readonly V[] : never });

/** What a test may say of the message itself. */
export interface WhenOptions<Settings> {
  readonly at?: number;
  readonly id?: string;
  readonly rootId?: string;
  readonly part?: string;
  readonly settings?: Partial<Settings>;
}

/** The instant of a message whose test names none: 2031-03-04T10:00:00Z. */
export const defaultAt = Date.UTC(2031, 2, 4, 10);

/** An effect with its topic or row by name: equal effects stay equal, and a difference can be read. */
export function named(effect: Effect): unknown {
  switch (effect.do) {
    case 'emit':
      return { ...effect, topic: effect.topic.name };
    case 'put':
    case 'remove':
      return { ...effect, place: { ...effect.place, projection: effect.place.projection.name } };
    case 'later':
    case 'cancel':
    case 'call':
    case 'outcome':
    case 'reject':
      return effect;
  }
}

/** Given a view, when a message comes, then exactly these effects, in this order. */
export function spec<In, R extends Reads, T extends Tables, Settings>(stage: Stage<In, R, T, Settings>) {
  const defaults = stage.config.schema.parse({});

  const viewOf = (given: GivenView<R, T>, value: In): View<R, T> => {
    const names = new Map<string, unknown>(Object.entries(given));
    const view: Record<string, unknown> = {};
    for (const name of Object.keys(stage.reads(value))) view[name] = names.get(name);
    for (const [name, topic] of Object.entries(stage.tables ?? {})) {
      // The type of `given` lets a table be an array of the topic's own values and nothing else.
      view[name] = tableOf(topic, (names.get(name) ?? []) as readonly unknown[]);
    }
    for (const name of names.keys()) {
      if (!(name in view)) throw new Error(`the stage does not read ${name} for this message`);
    }
    // Built from the same declarations that the type is made of.
    return view as View<R, T>;
  };

  const decide = (given: GivenView<R, T>, value: In, options: WhenOptions<Settings> = {}): readonly Effect[] => {
    const id = options.id ?? 'message-1';
    const message: Message<In> = {
      id,
      rootId: options.rootId ?? 'root-1',
      at: options.at ?? defaultAt,
      key: stage.input.key(value),
      value,
      ...(options.part !== undefined && { part: options.part }),
    };
    return stage.decide(viewOf(given, value), message, { ...defaults, ...options.settings });
  };

  return {
    given: (view: GivenView<R, T>) => ({
      when: (value: In, options?: WhenOptions<Settings>) => ({
        // biome-ignore lint/suspicious/noThenProperty: given, when, then; nobody awaits it
        then: (...effects: readonly Effect[]) => {
          expect(decide(view, value, options).map(named)).toStrictEqual(effects.map(named));
        },
        effects: () => decide(view, value, options),
      }),
    }),
  };
}

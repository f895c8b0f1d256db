import type { Place, Topic } from '../../schemas/define.ts';
import type { Effect, Emit, Outcome, Reject } from '../stage/effects.ts';
import type { Message } from '../stage/message.ts';
import type { Reads, Stage, Tables, View } from '../stage/stage.ts';
import { tableOf } from './table.ts';

/** A message of a fold. Its key comes from the topic; an `at` before that of the message before it is raised. */
export interface FoldMessage<In> {
  readonly id: string;
  readonly value: In;
  readonly at: number;
  readonly rootId?: string;
  readonly part?: string;
}

/** An effect that left the stage, and the message it came from. */
export interface Left {
  readonly message: string;
  readonly effect: Emit | Outcome | Reject;
}

/** The end of a fold: the rows that are alive at its last instant, by `<projection>:<key>`, and what left, in order. */
export interface Folded {
  readonly rows: ReadonlyMap<string, unknown>;
  readonly left: readonly Left[];
}

interface Row {
  readonly value: unknown;
  readonly expireAt: number | undefined;
}

const rowName = (place: Place): string => `${place.projection.name}:${place.key}`;

/**
 * Runs a stage over messages in the plainest way: no cache, no fence, no watermark. Between batches (`splits`: their
 * sizes in turn, repeated) rows are kept as JSON and read through their schema, as a store would. Throws where a stage
 * breaks a rule of the shell: a row that the message's key does not own, a value that does not fit its contract.
 */
export function fold<In, R extends Reads, T extends Tables, Settings>(
  stage: Stage<In, R, T, Settings>,
  messages: readonly FoldMessage<In>[],
  options: {
    readonly tables?: { readonly [K in keyof T]?: T[K] extends Topic<infer V> ? readonly V[] : never };
    readonly settings?: Partial<Settings>;
    readonly splits?: readonly number[];
  } = {},
): Folded {
  const settings = { ...stage.config.schema.parse({}), ...options.settings };
  const given = new Map<string, unknown>(Object.entries(options.tables ?? {}));
  const tables = Object.fromEntries(
    Object.entries(stage.tables ?? {}).map(([name, topic]) => [
      name,
      // The type of `tables` lets it be an array of the topic's own values and nothing else.
      tableOf(topic, (given.get(name) ?? []) as readonly unknown[]),
    ]),
  );
  const store = new Map<string, { readonly json: string; readonly expireAt: number | undefined }>();
  let cache = new Map<string, Row | undefined>();
  const left: Left[] = [];
  let now = 0;

  const read = (place: Place): unknown => {
    const name = rowName(place);
    if (!cache.has(name)) {
      const stored = store.get(name);
      cache.set(
        name,
        stored && { value: place.projection.value.parse(JSON.parse(stored.json)), expireAt: stored.expireAt },
      );
    }
    const row = cache.get(name);
    return row === undefined || (row.expireAt !== undefined && row.expireAt <= now) ? undefined : row.value;
  };

  const write = (place: Place, key: string, row: Row | undefined): void => {
    if (place.owner !== key) throw new Error(`${rowName(place)} is owned by ${place.owner}, not by ${key}`);
    if (place.projection.stage !== stage.name) throw new Error(`${rowName(place)} belongs to another stage`);
    cache.set(rowName(place), row && { ...row, value: place.projection.value.parse(row.value) });
  };

  const apply = (effect: Effect, message: Message<In>): void => {
    switch (effect.do) {
      case 'put':
        write(effect.place, message.key, { value: effect.value, expireAt: effect.expireAt });
        break;
      case 'remove':
        write(effect.place, message.key, undefined);
        break;
      case 'emit':
        effect.topic.value.parse(effect.value);
        left.push({ message: message.id, effect });
        break;
      case 'outcome':
      case 'reject':
        left.push({ message: message.id, effect });
        break;
      case 'later':
      case 'cancel':
      case 'call':
        throw new Error(`this fold has no ${effect.do}`);
    }
  };

  const save = (): void => {
    for (const [name, row] of cache) {
      if (row === undefined) store.delete(name);
      else store.set(name, { json: JSON.stringify(row.value), expireAt: row.expireAt });
    }
    cache = new Map();
  };

  const splits = options.splits ?? [messages.length];
  let inBatch = 0;
  let batch = 0;
  for (const { id, value, at, rootId, part } of messages) {
    now = Math.max(now, at);
    const message: Message<In> = {
      id,
      rootId: rootId ?? id,
      at: now,
      key: stage.input.key(value),
      value,
      ...(part !== undefined && { part }),
    };
    const places = Object.entries(stage.reads(value)).map(([name, place]) => [name, read(place)]);
    // Built from the same declarations that the type is made of.
    const view = { ...Object.fromEntries(places), ...tables } as View<R, T>;
    const effects = stage.decide(view, message, settings);
    const whole = effects.find((effect) => effect.do === 'reject' && effect.part === undefined);
    for (const effect of whole === undefined ? effects : [whole]) apply(effect, message);
    inBatch++;
    if (inBatch >= Math.max(1, splits[batch % Math.max(1, splits.length)] ?? 1)) {
      save();
      inBatch = 0;
      batch++;
    }
  }
  save();
  const alive = [...store].filter(([, { expireAt }]) => expireAt === undefined || expireAt > now);
  return { rows: new Map(alive.map(([name, { json }]): [string, unknown] => [name, JSON.parse(json)]).sort()), left };
}

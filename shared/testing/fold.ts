import type { StagePlace, Topic } from '../../schemas/define.ts';
import { effectId } from '../runtime/header.ts';
import type { Effect, Emit, Outcome, Reject } from '../stage/effects.ts';
import type { Message } from '../stage/message.ts';
import type { Reads, Stage, Tables, View } from '../stage/stage.ts';
import { tableOf } from './table.ts';

/** A message of a fold. Its key comes from the topic; an `at` before that of the message before it is raised. */
export interface FoldMessage<In> {
  readonly id: string;
  /** The id that the stage sees, where that is another: of a record that came twice the two have the same one. */
  readonly messageId?: string;
  readonly value: In;
  readonly at: number;
  readonly rootId?: string;
  readonly part?: string;
  /** It is a timer that came back, in a fold that is given those: it counts while it is pending. */
  readonly isTimer?: boolean;
}

/** A timer that is set. */
interface Timer {
  readonly id: string;
  readonly rootId: string;
  readonly dueAt: number;
  readonly value: unknown;
}

/** An effect that left the stage, and the message it came from. */
export interface Left {
  readonly message: string;
  readonly effect: Emit | Outcome | Reject;
}

/**
 * The end of a fold: the rows that are alive at its last instant, by `<projection>:<key>`, and when those end that do not
 * last; what left, in order; and when the timers are due that are set still.
 */
export interface Folded {
  readonly rows: ReadonlyMap<string, unknown>;
  readonly expiries: ReadonlyMap<string, number>;
  readonly left: readonly Left[];
  readonly timers: ReadonlyMap<string, number>;
}

interface Row {
  readonly value: unknown;
  readonly expireAt: number | undefined;
}

const rowName = (place: StagePlace): string => `${place.projection.name}:${place.key}`;

/**
 * Runs a stage over messages in the plainest way: no cache, no fence, no watermark. A timer fires before the first message
 * that comes when it is due or later, and at the end up to `until`; with `timers: 'given'` it is among the messages. Between batches (`splits`: their
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
    readonly timers?: 'fire' | 'given';
    readonly until?: number;
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
  const timers = new Map<string, Timer>();
  let now = 0;

  const read = (place: StagePlace): unknown => {
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

  const write = (place: StagePlace, key: string, row: Row | undefined): void => {
    if (place.owner !== undefined && place.owner !== key) {
      throw new Error(`${rowName(place)} is owned by ${place.owner}, not by ${key}`);
    }
    if (place.projection.stage !== stage.name) throw new Error(`${rowName(place)} belongs to another stage`);
    cache.set(rowName(place), row && { ...row, value: place.projection.value.parse(row.value) });
  };

  const apply = (
    effect: Effect,
    index: number,
    { id, message }: { readonly id: string; readonly message: Message<In> },
  ): void => {
    switch (effect.do) {
      case 'put':
        write(effect.place, message.key, { value: effect.value, expireAt: effect.expireAt });
        break;
      case 'remove':
        write(effect.place, message.key, undefined);
        break;
      case 'emit':
        effect.topic.value.parse(effect.value);
        left.push({ message: id, effect });
        break;
      case 'outcome':
      case 'reject':
        left.push({ message: id, effect });
        break;
      case 'later': {
        const value = stage.input.value.parse(effect.value);
        if (stage.input.key(value) !== message.key) throw new Error(`a timer of another key: ${effect.key}`);
        // As the store keeps it: replaced, it is another timer, and takes the place of a later one.
        timers.delete(effect.key);
        timers.set(effect.key, {
          id: effectId(message.id, String(index)),
          rootId: message.rootId,
          dueAt: effect.dueAt,
          value,
        });
        break;
      }
      case 'cancel':
        timers.delete(effect.key);
        break;
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
  const take = ({ id, messageId, value, at, rootId, part }: FoldMessage<In>): void => {
    now = Math.max(now, at);
    const message: Message<In> = {
      id: messageId ?? id,
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
    for (const [index, effect] of (whole === undefined ? effects : [whole]).entries())
      apply(effect, index, { id, message });
    inBatch++;
    if (inBatch >= Math.max(1, splits[batch % Math.max(1, splits.length)] ?? 1)) {
      save();
      inBatch = 0;
      batch++;
    }
  };

  const fire = (key: string, { id, rootId, dueAt, value }: Timer, given?: FoldMessage<In>): void => {
    timers.delete(key);
    // A timer holds what the stage gave it, which was read by the input's own schema.
    take({ id: given?.id ?? id, messageId: id, rootId, at: Math.max(given?.at ?? 0, dueAt), value: value as In });
  };
  const fireDue = (at: number): void => {
    if (options.timers === 'given') return;
    for (;;) {
      const due = [...timers].filter(([, { dueAt }]) => dueAt <= at).sort(([, a], [, b]) => a.dueAt - b.dueAt)[0];
      if (due === undefined) return;
      fire(...due);
    }
  };
  for (const message of messages) {
    fireDue(message.at);
    if (message.isTimer !== true) {
      take(message);
      continue;
    }
    const pending = [...timers].find(([, { id }]) => id === message.messageId);
    if (pending !== undefined) fire(...pending, message);
  }
  if (options.until !== undefined) {
    fireDue(options.until);
    now = Math.max(now, options.until);
  }
  save();
  const alive = [...store].filter(([, { expireAt }]) => expireAt === undefined || expireAt > now);
  return {
    rows: new Map(alive.map(([name, { json }]): [string, unknown] => [name, JSON.parse(json)]).sort()),
    expiries: new Map(
      alive
        .flatMap(([name, { expireAt }]): [string, number][] => (expireAt === undefined ? [] : [[name, expireAt]]))
        .sort(),
    ),
    left,
    timers: new Map([...timers].map(([key, { dueAt }]): [string, number] => [key, dueAt]).sort()),
  };
}

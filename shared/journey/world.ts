import { decisions } from '../../schemas/decision.ts';
import type { Topic } from '../../schemas/define.ts';
import { topics } from '../../schemas/index.ts';
import type { Bus } from '../runtime/bus.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Codec } from '../runtime/codec.ts';
import type { Store } from '../runtime/store.ts';
import type { AnyStage } from '../stage/index.ts';
import { createLogReader, type LoggedRecord, type LogReader } from './log-reader.ts';
import { positionText } from './position.ts';
import { createProjectionReader, type ProjectionReader } from './projection-reader.ts';

/** What a journey is read from. */
export interface JourneyWorld {
  readonly bus: Bus;
  readonly codec: Codec;
  readonly log: LogReader;
  readonly journal: ProjectionReader;
  /** The stages that handle facts, each after those whose output it reads. */
  readonly pipeline: readonly AnyStage[];
  readonly clock: Clock;
  readonly progress: (text: string | undefined) => void;
}

/** Opens what a journey is read from; the log as it is now. */
export async function openJourneyWorld({
  store,
  ...world
}: Omit<JourneyWorld, 'log' | 'journal'> & { readonly store: Store }): Promise<JourneyWorld> {
  const log = createLogReader(world.bus);
  const journal = await createProjectionReader({
    store,
    stage: 'decision-journal',
    partitions: (await log.bounds(decisions.name)).length,
    now: world.clock.now,
  });
  return { ...world, log, journal };
}

const byName = new Map<string, Topic>(topics.map((topic) => [topic.name, topic]));

/** A record's value and the topic that explains it; undefined when it cannot be read. */
export async function readValue(
  { position, record }: LoggedRecord,
  codec: Codec,
): Promise<{ readonly topic: Topic; readonly value: unknown } | undefined> {
  const topic = byName.get(position.topic);
  if (topic === undefined) return undefined;
  const decoded = await codec.decode(topic, record.value);
  return decoded.type === 'value' ? { topic, value: decoded.value } : undefined;
}

/** The id of the fact that a record belongs to, as the stages compute it. */
export async function rootIdOf(logged: LoggedRecord, codec: Codec): Promise<string> {
  if (logged.header !== undefined) return logged.header.rootId;
  const read = await readValue(logged, codec);
  return (read === undefined ? undefined : read.topic.id?.(read.value)) ?? positionText(logged.position);
}

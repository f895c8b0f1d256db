import { actorEvents } from '../../schemas/actor-event.ts';
import { type JourneyHandle, journeyIndex, journeys } from '../../schemas/journey.ts';
import { normalizedFacts } from '../../schemas/normalized-fact.ts';
import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { partitionOf } from '../partition.ts';
import type { LoggedRecord } from './log-reader.ts';
import { type Position, parsePosition } from './position.ts';
import { type JourneyWorld, readValue, rootIdOf } from './world.ts';

/** What a person asks about: one id of any kind, or an entry by its channel and its own id. */
export type Question =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'entry'; readonly signalChannelId: string; readonly sourceEntryId: string };

/** A fact that answers a question, and records that are known to be on its way. */
export interface FoundFact {
  readonly rootId: string;
  readonly seeds: readonly Position[];
}

const scanLimit = 50_000;

/** The facts that the journal knows under these ids, and the one of the record at this position. */
export async function findDecided(question: Question, world: JourneyWorld): Promise<readonly FoundFact[]> {
  const indexed = async (handle: JourneyHandle): Promise<readonly FoundFact[]> => {
    const rows = await world.journal.readEverywhere(journeyIndex.at({ handle, rootId: '' }));
    return rows.flatMap(({ rootIds }) => rootIds.map((rootId) => ({ rootId, seeds: [] })));
  };
  if (question.by === 'entry') return indexed(question);

  const { id } = question;
  const position = parsePosition(id);
  const [journey, atPosition, byProviderEvent, byActorEvent] = await Promise.all([
    world.journal.read(journeys.at(id)),
    position === undefined ? undefined : recordAt(position, world),
    indexed({ by: 'provider-event', id }),
    indexed({ by: 'actor-event', id }),
  ]);
  const direct = journey === undefined ? [] : [{ rootId: id, seeds: [] }];
  const placed = atPosition === undefined ? [] : [await foundFrom(atPosition, world)];
  return unique([...direct, ...placed, ...byProviderEvent, ...byActorEvent]);
}

/** The facts of the log itself that fit, for one that nothing was decided about yet: the newest stretch of each topic. */
export async function findUndecided(
  question: Question,
  since: number,
  world: JourneyWorld,
): Promise<readonly FoundFact[]> {
  const found: FoundFact[] = [];
  for (const { topic, partition } of await places(question, world)) {
    world.progress(`Looking through ${topic}/${partition} …`);
    const sinceOffset = await world.log.offsetAt(topic, partition, since);
    // What is newest is the likeliest not to have been decided on.
    const newest = ((await world.log.bounds(topic))[partition]?.end ?? 0n) - BigInt(scanLimit);
    const from = sinceOffset > newest ? sinceOffset : newest;
    for await (const logged of world.log.scan({ topic, partition, from, limit: scanLimit })) {
      if (await answers(question, logged, world)) found.push(await foundFrom(logged, world));
    }
  }
  world.progress(undefined);
  return unique(found);
}

async function places(question: Question, { log }: JourneyWorld) {
  if (question.by === 'entry') {
    const topic = normalizedFacts.name;
    return [{ topic, partition: partitionOf(question.signalChannelId, (await log.bounds(topic)).length) }];
  }
  const all = await Promise.all(
    [rawProviderFacts.name, actorEvents.name].map(async (topic) =>
      (await log.bounds(topic)).map((_, partition) => ({ topic, partition })),
    ),
  );
  return all.flat();
}

/** Ids that stand in JSON as they are, whoever wrote it: a record without their bytes need not be decoded. */
const unescaped = /^[\w.:-]+$/;

async function answers(question: Question, logged: LoggedRecord, { codec }: JourneyWorld): Promise<boolean> {
  if (question.by === 'id' && unescaped.test(question.id) && logged.record.value?.includes(question.id) !== true) {
    return false;
  }
  const read = await readValue(logged, codec);
  if (read === undefined) return false;
  const about = read.topic.about?.(read.value) ?? {};
  if (question.by === 'entry') {
    return about.signalChannelId === question.signalChannelId && about.sourceEntryId === question.sourceEntryId;
  }
  return [read.topic.id?.(read.value), about.providerEventId, about.actorEventId].includes(question.id);
}

async function recordAt(position: Position, { log, bus }: JourneyWorld): Promise<LoggedRecord | undefined> {
  return (await bus.offsets(position.topic)) === undefined ? undefined : log.at(position);
}

const foundFrom = async (logged: LoggedRecord, { codec }: JourneyWorld): Promise<FoundFact> => ({
  rootId: await rootIdOf(logged, codec),
  seeds: [logged.position],
});

/** One entry for each fact, all of its seeds with it. */
function unique(found: readonly FoundFact[]): readonly FoundFact[] {
  const byRoot = new Map<string, readonly Position[]>();
  for (const { rootId, seeds } of found) byRoot.set(rootId, [...(byRoot.get(rootId) ?? []), ...seeds]);
  return [...byRoot].map(([rootId, seeds]) => ({ rootId, seeds }));
}

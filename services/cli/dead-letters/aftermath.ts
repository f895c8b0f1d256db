import type { DeadLetter } from '../../../schemas/dead-letter.ts';
import type { Decision } from '../../../schemas/decision.ts';
import { journeys } from '../../../schemas/journey.ts';
import { allDecisions } from '../../../shared/journey/decisions.ts';
import type { LoggedRecord } from '../../../shared/journey/log-reader.ts';
import { parsePosition, positionText } from '../../../shared/journey/position.ts';
import { createTrail } from '../../../shared/journey/trail.ts';
import type { JourneyWorld } from '../../../shared/journey/world.ts';
import { letterRecords } from './read-letters.ts';
import { redrivenRecord } from './redrive.ts';

/** One time that a letter was redriven: when, as which record, and how that ended so far. */
export interface Redrive {
  readonly at: number;
  /** Absent when the record has left its topic. */
  readonly position?: string;
  readonly ends: readonly Pick<Decision, 'stage' | 'status' | 'reason' | 'about'>[];
}

// A record is appended before its mark, and other brokers have other clocks.
const beforeMarkMs = 60_000;
const scanLimit = 20_000;

/** Every time that a letter was redriven, by the marks behind it, and the decisions on what came of it. */
export async function redrivesOf(
  logged: LoggedRecord,
  letter: DeadLetter,
  world: JourneyWorld,
): Promise<readonly Redrive[]> {
  const { log, bus } = world;
  const { topic, partition, offset } = logged.position;
  const end = (await log.bounds(topic))[partition]?.end ?? 0n;
  const marks: LoggedRecord[] = [];
  for await (const later of letterRecords(bus, { partition, from: offset + 1n, end })) {
    const isMark = later.record.value === null && later.header?.redrive === positionText(logged.position);
    if (isMark) marks.push(later);
  }
  const found: Redrive[] = [];
  const told = new Set<string>();
  for (const { record } of marks) {
    const again = await recordBefore(record.at, { logged, letter, told, world });
    if (again !== undefined) told.add(positionText(again.position));
    found.push({
      at: record.at,
      ...(again !== undefined && { position: positionText(again.position) }),
      ends: again === undefined ? [] : await endsOf(again, letter.rootId, world),
    });
  }
  return found;
}

interface Marked {
  readonly logged: LoggedRecord;
  readonly letter: DeadLetter;
  /** Records that belong to marks before this one. */
  readonly told: ReadonlySet<string>;
  readonly world: JourneyWorld;
}

/** The redriven record that a mark was written for. */
async function recordBefore(
  markedAt: number,
  { logged, letter, told, world }: Marked,
): Promise<LoggedRecord | undefined> {
  const { log } = world;
  const { topic, partition } = redrivenRecord(logged, letter, (await log.bounds(letter.topic)).length);
  const from = await log.offsetAt(topic, partition, markedAt - beforeMarkMs);
  for await (const made of log.scan({ topic, partition, from, limit: scanLimit })) {
    if (made.header?.redrive !== positionText(logged.position) || told.has(positionText(made.position))) continue;
    return made;
  }
  return undefined;
}

/** The decisions that were made on a record, or on what came of it. */
async function endsOf(record: LoggedRecord, rootId: string, world: JourneyWorld): Promise<Redrive['ends']> {
  const journey = await world.journal.read(journeys.at(rootId));
  const all = await allDecisions(rootId, journey?.decisions ?? [], record.record.at, world);
  const ends: Redrive['ends'][number][] = [];
  for (const { decision } of all) {
    const from = decision.from === undefined ? undefined : parsePosition(decision.from);
    if (from === undefined) continue;
    // What a later redrive of a later letter brought is told by that letter.
    const trail = createTrail(world.log, 'ends');
    await trail.climb(from);
    if (!trail.nodes.has(positionText(record.position))) continue;
    const { stage, status, reason, about } = decision;
    ends.push({ stage, status, ...(reason !== undefined && { reason }), about });
  }
  return ends;
}

import { findDecided, findUndecided, type Question } from './find.ts';
import type { JourneyReport } from './report.ts';
import { walkJourney } from './walk.ts';
import type { JourneyWorld } from './world.ts';

/** Journeys, the newest last, and how many older ones were left out. */
export interface ToldJourneys {
  readonly journeys: readonly JourneyReport[];
  readonly omitted: number;
}

/** Tells the journeys of all facts that fit. `since`: how far back the log is looked through for what nothing was decided about. */
export async function tellJourneys(
  question: Question,
  { limit, since }: { readonly limit: number; readonly since: number },
  world: JourneyWorld,
): Promise<ToldJourneys> {
  const decided = await findDecided(question, world);
  const facts = decided.length > 0 ? decided : await findUndecided(question, since, world);
  const reports: JourneyReport[] = [];
  for (const fact of facts) {
    world.progress(`Following ${fact.rootId} …`);
    const report = await walkJourney(fact, world);
    if (report !== undefined) reports.push(report);
  }
  const journeys = reports.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0)).slice(-limit);
  return { journeys, omitted: reports.length - journeys.length };
}

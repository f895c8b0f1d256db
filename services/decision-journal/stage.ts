import { type Decision, decisions } from '../../schemas/decision.ts';
import { type JourneyHandle, journeyIndex, journeys } from '../../schemas/journey.ts';
import { defineStage, type Effect, put } from '../../shared/stage/index.ts';
import { config } from './config.ts';
import { addDecision, addRootId } from './journey.ts';
import { metrics } from './metrics.ts';

/** The index rows of a decision, for as much as it is about. */
function indexPlaces({ rootId, about }: Decision) {
  const { providerEventId, signalChannelId, sourceEntryId, actorEventId } = about;
  const place = (handle: JourneyHandle) => journeyIndex.at({ handle, rootId });
  return {
    ...(providerEventId !== undefined && { providerEvent: place({ by: 'provider-event', id: providerEventId }) }),
    ...(signalChannelId !== undefined &&
      sourceEntryId !== undefined && { entry: place({ by: 'entry', signalChannelId, sourceEntryId }) }),
    ...(actorEventId !== undefined && { actorEvent: place({ by: 'actor-event', id: actorEventId }) }),
  };
}

export const stage = defineStage({
  name: 'decision-journal',
  summary: 'Keeps what became of each fact, so that its journey can be told.',
  input: decisions,
  outputs: [],
  config,
  metrics,
  reads: (decision) => ({ journey: journeys.at(decision.rootId), ...indexPlaces(decision) }),

  decide(view, { value: decision, at }, { retentionMs, maxDecisions, maxJourneys }) {
    const journey = addDecision(view.journey, decision, maxDecisions);
    if (journey === undefined) return [];

    const expireAt = at + retentionMs;
    const effects: Effect[] = [put(journeys.at(decision.rootId), journey, expireAt)];
    const places = indexPlaces(decision);
    for (const name of ['providerEvent', 'entry', 'actorEvent'] as const) {
      const place = places[name];
      if (place !== undefined) effects.push(put(place, addRootId(view[name], decision.rootId, maxJourneys), expireAt));
    }
    return effects;
  },
});

import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import { defineStage, outcome } from '../../shared/stage/index.ts';
import { config } from './config.ts';
import { foldReaction } from './fold-reaction.ts';
import { invokeAction } from './invoke-action.ts';
import { metrics } from './metrics.ts';
import { actionPlaces, entryPlaces, placesOf, reactionPlaces, removalPlaces } from './places.ts';
import { receiveEntry } from './receive-entry.ts';
import { removeEntry } from './remove-entry.ts';

export const stage = defineStage({
  name: 'mirror-projector',
  summary: 'Keeps the mirror of channels and entries, and wakes agents for what is new.',
  input: acceptedFacts,
  outputs: [actorEvents],
  config,
  metrics,
  reads: placesOf,

  decide(view, { value: { route, fact }, at }, settings) {
    if (view.seen !== undefined) return [outcome('duplicate', { reason: 'same_event' })];
    switch (fact.type) {
      case 'entry_received':
        return receiveEntry({ view, places: entryPlaces(route, fact), route, fact, at, settings });
      case 'entry_lifecycle':
        return removeEntry({ view, places: removalPlaces(route, fact), route, fact, at, settings });
      case 'reaction':
        return foldReaction({ view, places: reactionPlaces(route, fact), fact, at, settings });
      case 'action':
        return invokeAction({ view, places: actionPlaces(route, fact), route, fact, at, settings });
    }
  },
});

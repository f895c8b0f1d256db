import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import { defineStage, outcome } from '../../shared/stage/index.ts';
import { isConversation } from './addressing.ts';
import { closeDue } from './close-due.ts';
import { config } from './config.ts';
import { foldReaction } from './fold-reaction.ts';
import { invokeAction } from './invoke-action.ts';
import { metrics } from './metrics.ts';
import { actionPlaces, entryPlaces, messagePlaces, placesOf, reactionPlaces, removalPlaces } from './places.ts';
import { receiveEntry } from './receive-entry.ts';
import { receiveMessage, showEntry } from './receive-message.ts';
import { removeEntry } from './remove-entry.ts';

export const stage = defineStage({
  name: 'mirror-projector',
  summary: 'Keeps the mirror of channels and entries, and wakes agents for what is new.',
  input: acceptedFacts,
  outputs: [actorEvents],
  config,
  metrics,
  reads: placesOf,

  decide(view, message, settings) {
    const { value: accepted, at } = message;
    if (accepted.type === 'batch.due') return closeDue({ view, due: accepted, at });
    const { route, fact } = accepted;
    if (accepted.type === 'entry.addressed') {
      return showEntry({ view, places: messagePlaces(route, accepted.fact), fact: accepted.fact, message });
    }
    if (view.seen !== undefined) return [outcome('duplicate', { reason: 'same_event' })];
    switch (fact.type) {
      case 'entry_received':
        if (isConversation(fact)) {
          return receiveMessage({ view, places: messagePlaces(route, fact), route, fact, message, settings });
        }
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

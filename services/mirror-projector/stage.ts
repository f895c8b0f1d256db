import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import type { NormalizedFact } from '../../schemas/normalized-fact.ts';
import { defineStage, type Effect, outcome } from '../../shared/stage/index.ts';
import { isConversation } from './addressing.ts';
import { changeInput } from './change-input.ts';
import { closeDue } from './close-due.ts';
import { config } from './config.ts';
import { foldReaction } from './fold-reaction.ts';
import { interactionIn } from './interaction.ts';
import { invokeAction } from './invoke-action.ts';
import { unlessLooping } from './loop-guard.ts';
import { metrics } from './metrics.ts';
import {
  actionPlaces,
  changePlaces,
  entryPlaces,
  messagePlaces,
  placesOf,
  reactionPlaces,
  removalPlaces,
} from './places.ts';
import { receiveEntry } from './receive-entry.ts';
import { type Received, receiveMessage, showEntry } from './receive-message.ts';
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
    if (accepted.type === 'batch.due') return closeDue({ view, due: accepted, at, settings });
    if (accepted.type === 'input.changed') {
      return changeInput({ view, places: changePlaces(accepted), change: accepted, at, settings });
    }
    const { route, fact } = accepted;
    if (accepted.type === 'entry.addressed') {
      return showEntry({ view, places: messagePlaces(route, accepted.fact), fact: accepted.fact, message });
    }
    if (view.seen !== undefined) return [outcome(repeatOf(fact), { reason: 'same_event' })];
    switch (fact.type) {
      case 'entry_received':
        return unlessLooping(
          { pair: view.pair, route, fact, at, settings },
          {
            wake: () => receive({ view, route, fact, message, settings }),
            record: () => receive({ view, route, fact: { ...fact, mirrorOnly: true }, message, settings }),
          },
        );
      case 'entry_lifecycle':
        return removeEntry({ view, places: removalPlaces(route, fact), route, fact, at, settings });
      case 'reaction':
        return foldReaction({ view, places: reactionPlaces(route, fact), fact, at, settings });
      case 'action':
        return invokeAction({ view, places: actionPlaces(route, fact), route, fact, at, settings });
    }
  },
});

/** What a source event is that the route has handled: of an answer to a control of ours, those who watch it want to know. */
const repeatOf = (fact: NormalizedFact): 'duplicate' | 'duplicate_action' =>
  fact.type === 'action' && interactionIn(fact).type === 'managed' ? 'duplicate_action' : 'duplicate';

/** An entry: a message waits with others where its channel is a conversation. */
const receive = (received: Omit<Received, 'places'>): readonly Effect[] => {
  const { route, fact } = received;
  return isConversation(fact)
    ? receiveMessage({ ...received, places: messagePlaces(route, fact) })
    : receiveEntry({ ...received, places: entryPlaces(route, fact) });
};

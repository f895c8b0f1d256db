import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import type { Action } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, outcome, put, reject } from '../../shared/stage/index.ts';
import { actionEventOf } from './actor-event.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import { interactionIn } from './interaction.ts';
import type { ActionView, actionPlaces } from './places.ts';

/** Somebody pressed, chose or sent something: on to the agent at once. The mirror keeps its channel and no entry. */
export function invokeAction(options: {
  readonly view: ActionView;
  readonly places: ReturnType<typeof actionPlaces>;
  readonly route: RouteOfFact;
  readonly fact: Action;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { view, places, route, fact, at, settings } = options;
  const interaction = interactionIn(fact);
  if (interaction.type === 'malformed') return [reject('invalid_reply_interaction', { issue: interaction.issue })];

  const channel = mergeChannel(view.channel, fact, at);
  const kept = [put(places.channel, channel), put(places.seen, { at }, at + settings.seenRetentionMs)];
  switch (interaction.type) {
    case 'managed':
      // Who may answer, and whether it is answered already, is decided where the session's replies are kept, and no reply
      // offers controls yet: so none of these is known, and an unknown one is stale.
      return [...kept, outcome('stale_action', { reason: 'unknown_interaction' })];
    case 'unmanaged': {
      const event = actionEventOf({ route, channel, at }, fact);
      return [...kept, emit(actorEvents, event), outcome('accepted', { about: { actorEventId: event.id } })];
    }
  }
}

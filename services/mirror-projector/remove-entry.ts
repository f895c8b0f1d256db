import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import type { EntryLifecycle } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, outcome, put, remove } from '../../shared/stage/index.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import { inputsOf, removedEvents } from './inputs.ts';
import type { RemovalView, removalPlaces } from './places.ts';

/**
 * An entry is gone at its provider: it leaves the mirror, a tombstone keeps its late arrival out, and each session that was
 * given it is told once.
 */
export function removeEntry(options: {
  readonly view: RemovalView;
  readonly places: ReturnType<typeof removalPlaces>;
  readonly route: RouteOfFact;
  readonly fact: EntryLifecycle;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { view, places, route, fact, at, settings } = options;
  const channel = mergeChannel(view.channel, fact, at);
  const events = removedEvents({ route, channel, at }, fact, inputsOf(view.handled, at, settings.inputRetentionMs));
  const [first] = events;
  return [
    put(places.channel, channel),
    put(places.tombstone, { removedAt: at }, at + settings.tombstoneRetentionMs),
    remove(places.entry),
    remove(places.reactionClock),
    remove(places.handled),
    put(places.seen, { at }, at + settings.seenRetentionMs),
    ...events.map((event) => emit(actorEvents, event)),
    outcome('accepted', {
      reason: 'entry_removed',
      ...(first !== undefined && { about: { actorEventId: first.id } }),
    }),
  ];
}

import type { EntryLifecycle } from '../../schemas/normalized-fact.ts';
import { type Effect, outcome, put, remove } from '../../shared/stage/index.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import type { RemovalView, removalPlaces } from './places.ts';

/** An entry is gone at its provider: it leaves the mirror, and a tombstone keeps its late arrival out. */
export function removeEntry(options: {
  readonly view: RemovalView;
  readonly places: ReturnType<typeof removalPlaces>;
  readonly fact: EntryLifecycle;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { view, places, fact, at, settings } = options;
  return [
    put(places.channel, mergeChannel(view.channel, fact, at)),
    put(places.tombstone, { removedAt: at }, at + settings.tombstoneRetentionMs),
    remove(places.entry),
    remove(places.reactionClock),
    remove(places.handled),
    put(places.seen, { at }, at + settings.seenRetentionMs),
    outcome('accepted', { reason: 'entry_removed' }),
  ];
}

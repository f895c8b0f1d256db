import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import type { EntryLifecycle } from '../../schemas/normalized-fact.ts';
import { type Effect, outcome, put, remove } from '../../shared/stage/index.ts';
import { keepBatches } from './batch/close.ts';
import { withoutEntry } from './batch/route.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import { forgetEntry } from './context.ts';
import { inputsOf, tellChange } from './inputs.ts';
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
  const inputs = inputsOf(view.handled, at, settings.inputRetentionMs);
  const told = tellChange({ route, channel, at }, { fact, inputs });
  return [
    put(places.channel, channel),
    put(places.tombstone, { removedAt: at }, at + settings.tombstoneRetentionMs),
    remove(places.entry),
    remove(places.reactionClock),
    remove(places.handled),
    ...withdrawn(view, places, route, fact),
    put(places.seen, { at }, at + settings.seenRetentionMs),
    ...told.effects,
    outcome('accepted', {
      reason: 'entry_removed',
      ...(told.first !== undefined && { about: { actorEventId: told.first.id } }),
    }),
  ];
}

/** Takes the entry out of what waits, and out of what was said of late. */
function withdrawn(
  { batches, recent }: RemovalView,
  places: ReturnType<typeof removalPlaces>,
  route: RouteOfFact,
  { signalChannelId, sourceEntryId, providerThreadId }: EntryLifecycle,
): readonly Effect[] {
  const effects: Effect[] = [];
  if (batches !== undefined) {
    const { open, remains, canceled } = withoutEntry(batches.batches, sourceEntryId, {
      windows: route.windows,
      providerThreadId,
    });
    if (remains !== undefined || canceled !== undefined) {
      effects.push(...keepBatches(route, signalChannelId, batches, { ...batches, batches: [...open] }));
    }
  }
  if (places.recent !== undefined && recent?.entries.some((each) => each.sourceEntryId === sourceEntryId)) {
    effects.push(put(places.recent, { entries: forgetEntry(recent.entries, sourceEntryId) }));
  }
  return effects;
}

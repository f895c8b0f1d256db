import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, outcome, put, reject } from '../../shared/stage/index.ts';
import { entryEventOf } from './actor-event.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import { entryOf, isSameRevision, isStale } from './entry.ts';
import type { EntryView, entryPlaces } from './places.ts';

/** An entry, or a newer revision of one: into the mirror, and on to the agent where its type says so. */
export function receiveEntry(options: {
  readonly view: EntryView;
  readonly places: ReturnType<typeof entryPlaces>;
  readonly route: RouteOfFact;
  readonly fact: EntryReceived;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { view, places, route, fact, at, settings } = options;

  // Not even remembered as seen: once the tombstone has expired, the same event counts as new.
  if (view.tombstone !== undefined) return [outcome('dropped_tombstoned')];

  const eventType = fact.mirrorOnly === true ? null : (fact.actorEventType ?? undefined);
  if (eventType === undefined) {
    return [reject('missing_actor_event_type', { channelKind: fact.channel.kind ?? 'unknown' })];
  }

  const channel = mergeChannel(view.channel, fact, at);
  const entry = entryOf(fact, view.entry, at);
  const revision = {
    contentHash: entry.contentHash,
    providerTime: entry.providerTime,
    actorEventType: eventType,
  };
  const kept: readonly Effect[] = [
    put(places.channel, channel),
    ...(isStale(entry, view.entry) ? [] : [put(places.entry, entry)]),
    ...(isStale(revision, view.handled) ? [] : [put(places.handled, revision)]),
    put(places.seen, { at }, at + settings.seenRetentionMs),
  ];

  if (isSameRevision(revision, view.handled)) return [...kept, outcome('duplicate', { reason: 'same_revision' })];
  if (eventType === null) return [...kept, outcome('recorded')];

  const event = entryEventOf({ route, channel, at }, { type: eventType, fact, entry });
  return [...kept, emit(actorEvents, event), outcome('accepted', { about: { actorEventId: event.id } })];
}

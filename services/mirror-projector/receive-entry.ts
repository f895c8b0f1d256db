import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type ActorEvent, actorEvents } from '../../schemas/actor-event.ts';
import type { HandledRevision } from '../../schemas/mirror.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, outcome, put, reject } from '../../shared/stage/index.ts';
import { entryEventOf } from './actor-event.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import { entryOf, isSameRevision, isStale } from './entry.ts';
import { editedEvents, inputsOf, isEditOfInput, withInput } from './inputs.ts';
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
  const { contentHash, providerTime } = entry;
  const revision: HandledRevision = { contentHash, providerTime, actorEventType: eventType };
  const isOlder = isStale(revision, view.handled);
  const inputs = inputsOf(view.handled, at, settings.inputRetentionMs);

  /** What is written whatever becomes of it; `held` are the events that the agent then has of the entry. */
  const kept = (held = inputs): readonly Effect[] => [
    put(places.channel, channel),
    ...(isStale(entry, view.entry) ? [] : [put(places.entry, entry)]),
    ...(isOlder && held === inputs
      ? []
      : [put(places.handled, { ...newest(view.handled, revision), ...(held.length > 0 && { inputs: held }) })]),
    put(places.seen, { at }, at + settings.seenRetentionMs),
  ];
  const handOver = (events: readonly ActorEvent[], held: HandledRevision['inputs']): readonly Effect[] => [
    ...kept(held),
    ...events.map((event) => emit(actorEvents, event)),
    outcome('accepted', events[0] && { about: { actorEventId: events[0].id } }),
  ];

  if (isSameRevision(revision, view.handled)) return [...kept(), outcome('duplicate', { reason: 'same_revision' })];
  if (eventType === null) return [...kept(), outcome('recorded')];

  const occasion = { route, channel, at };
  if (isEditOfInput(route, fact, inputs)) {
    // The agent has a newer one, or has been told of it: to go back would be wrong.
    if (isOlder) return [...kept(), outcome('duplicate', { reason: 'older_revision' })];
    const refreshed = inputs.map((input) => ({ ...input, at }));
    return handOver(editedEvents(occasion, { fact, entry, inputs }), refreshed);
  }
  const event = entryEventOf(occasion, { type: eventType, fact, entry });
  return handOver([event], withInput(inputs, event, at));
}

const newest = (handled: HandledRevision | undefined, revision: HandledRevision): HandledRevision =>
  handled !== undefined && isStale(revision, handled) ? handled : revision;

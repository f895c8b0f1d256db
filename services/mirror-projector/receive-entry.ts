import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import type { HandledRevision } from '../../schemas/mirror.ts';
import type { EntryReceived } from '../../schemas/normalized-fact.ts';
import { type Effect, emit, type Message, outcome, put, reject } from '../../shared/stage/index.ts';
import { entryEventOf } from './actor-event.ts';
import { mergeChannel } from './channel.ts';
import type { Settings } from './config.ts';
import { entryOf, isSameRevision, isStale } from './entry.ts';
import { awaitsFiles, bringsFiles, inputsOf, isChangeOfInput, tellChange, withInput } from './inputs.ts';
import type { EntryView, entryPlaces } from './places.ts';

/** An entry, or a newer revision of one: into the mirror, and on to the agent where its type says so. */
export function receiveEntry(options: {
  readonly view: EntryView;
  readonly places: ReturnType<typeof entryPlaces>;
  readonly route: RouteOfFact;
  readonly fact: EntryReceived;
  readonly message: Pick<Message<unknown>, 'at'>;
  readonly settings: Settings;
}): readonly Effect[] {
  const { view, places, route, fact, message, settings } = options;
  const { at } = message;

  // Not even remembered as seen: once the tombstone has expired, the same event counts as new.
  if (view.tombstone !== undefined) return [outcome('dropped_tombstoned')];

  const isSilent = fact.mirrorOnly === true || fact.author.agentUid === route.agentUid;
  const eventType = isSilent ? null : (fact.actorEventType ?? undefined);
  if (eventType === undefined) {
    return [reject('missing_actor_event_type', { channelKind: fact.channel.kind ?? 'unknown' })];
  }

  const channel = mergeChannel(view.channel, fact, at);
  const entry = entryOf(fact, view.entry, at);
  const { contentHash, providerTime } = entry;
  const revision: HandledRevision = {
    ...{ contentHash, providerTime, actorEventType: eventType },
    ...(awaitsFiles(fact) && { awaitsFiles: true }),
  };
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

  if (isSameRevision(revision, view.handled)) return [...kept(), outcome('duplicate', { reason: 'same_revision' })];
  if (eventType === null) return [...kept(), outcome('recorded')];

  const occasion = { route, channel, at };
  if (isChangeOfInput(route, fact, view.handled, inputs)) {
    // The agent has a newer one, or has been told of it: to go back would be wrong.
    if (isOlder) return [...kept(), outcome('duplicate', { reason: 'older_revision' })];
    const told = tellChange(occasion, { fact, inputs });
    return [
      ...kept(inputs.map((input) => ({ ...input, at }))),
      ...told.effects,
      outcome(
        bringsFiles(fact, view.handled) ? 'input_superseded_refresh' : 'accepted',
        told.first && { about: { actorEventId: told.first.id } },
      ),
    ];
  }
  const event = entryEventOf(occasion, { type: eventType, fact, entry });
  return [
    ...kept(withInput(inputs, event, at)),
    emit(actorEvents, event),
    outcome('accepted', { about: { actorEventId: event.id } }),
  ];
}

const newest = (handled: HandledRevision | undefined, revision: HandledRevision): HandledRevision =>
  handled !== undefined && isStale(revision, handled) ? handled : revision;

import type { Entry, ReactionClock } from '../../schemas/mirror.ts';
import type { Reaction } from '../../schemas/normalized-fact.ts';
import { type Effect, outcome, put, remove } from '../../shared/stage/index.ts';
import type { Settings } from './config.ts';
import type { ReactionView, reactionPlaces } from './places.ts';

/** A reaction came or went: into the mirror of its entry, and nowhere else. It wakes nobody, whatever it is. */
export function foldReaction(options: {
  readonly view: ReactionView;
  readonly places: ReturnType<typeof reactionPlaces>;
  readonly fact: Reaction;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { view, places, fact, at, settings } = options;

  // Not remembered as seen: once the entry is there, the same event counts as new.
  if (view.entry === undefined) return [outcome('ignored_unknown_entry')];

  const seen = put(places.seen, { at }, at + settings.seenRetentionMs);
  const changedAt = timeIn(view.clock, fact);
  if (changedAt !== undefined && fact.providerTime !== undefined && fact.providerTime < changedAt) {
    return [seen, outcome('mirrored', { reason: 'older_change' })];
  }

  const clock = advance(view.clock, fact);
  return [
    put(places.entry, withReaction(view.entry, fact, at)),
    clock === undefined ? remove(places.clock) : put(places.clock, clock, at + settings.seenRetentionMs),
    seen,
    outcome('mirrored'),
  ];
}

const without = <V>(members: Readonly<Record<string, V>>, name: string): [string, V][] =>
  Object.entries(members).filter(([key]) => key !== name);

const memberOf = <V>(members: Readonly<Record<string, V>> | undefined, name: string): V | undefined =>
  members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined;

const timeIn = (clock: ReactionClock | undefined, { reactionKey, actorKey }: Reaction): number | undefined =>
  memberOf(memberOf(clock?.times, reactionKey), actorKey);

/** The entry with this actor among those who reacted so, or not among them any more; a reaction of nobody is none. */
function withReaction(entry: Entry, fact: Reaction, at: number): Entry {
  const { reactionKey: key, rawReactionKey = key, actorKey, action } = fact;
  const others = (memberOf(entry.reactions, key) ?? []).filter((each) => each !== actorKey);
  const actors = action === 'add' ? [...others, actorKey].sort() : others;
  // From entries, since an assignment to a key that a provider chose could reach the prototype.
  const reactions = [...without(entry.reactions ?? {}, key), ...(actors.length > 0 ? [[key, actors] as const] : [])];
  return {
    ...entry,
    reactions: Object.fromEntries(reactions),
    rawReactionKeys: Object.fromEntries([...without(entry.rawReactionKeys ?? {}, key), [key, rawReactionKey]]),
    lastSeenAt: Math.max(entry.lastSeenAt, at),
  };
}

/** The clock after this change; undefined when it has nothing to tell. Without the provider's time, the next one counts. */
function advance(clock: ReactionClock | undefined, fact: Reaction): ReactionClock | undefined {
  const { reactionKey, actorKey, providerTime } = fact;
  const times = clock?.times ?? {};
  const ofKey = [
    ...without(memberOf(times, reactionKey) ?? {}, actorKey),
    ...(providerTime === undefined ? [] : [[actorKey, providerTime] as const]),
  ];
  const all = [
    ...without(times, reactionKey),
    ...(ofKey.length > 0 ? [[reactionKey, Object.fromEntries(ofKey)] as const] : []),
  ];
  return all.length > 0 ? { times: Object.fromEntries(all) } : undefined;
}

import type { InputChanged } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import type { OpenBatch } from '../../schemas/batch.ts';
import { type Effect, emit, outcome, put, remove } from '../../shared/stage/index.ts';
import { resultOf } from './batch/finalise.ts';
import { withEdit, withoutRemoved } from './batch/handed-over.ts';
import { mergedEvent } from './batch/merge.ts';
import type { Settings } from './config.ts';
import { noticesOf, replacementIdOf } from './inputs.ts';
import type { ChangeView, changePlaces } from './places.ts';

/** An entry of an event of several messages was removed or edited: what remains of the event is told in its place. */
export function changeInput({
  view,
  places,
  change,
  at,
  settings,
}: {
  readonly view: ChangeView;
  readonly places: ReturnType<typeof changePlaces>;
  readonly change: InputChanged;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { route, fact } = change;
  const { channel, handedOver } = view;
  if (channel === undefined) return [outcome('ignored', { reason: 'signal_channel_not_found' })];

  // The row is as old as what names it, so between the two it may have been forgotten.
  const inputs = change.inputs.filter(({ merged }) => merged !== true || handedOver !== undefined);
  const remains: OpenBatch | undefined =
    handedOver &&
    (fact.type === 'entry_lifecycle' ? withoutRemoved(handedOver.batch, fact) : withEdit(handedOver.batch, fact, at));
  const result = remains && resultOf(remains);
  const around = {
    recent: view.recent?.entries ?? [],
    shownEntryIds: view.batches?.shownEntryIds ?? [],
  };
  const occasion = { route, channel, at };
  const events = noticesOf(occasion, { fact, inputs }, ({ eventId }) =>
    remains === undefined || result === undefined || result === 'no_actor_event'
      ? undefined
      : mergedEvent({ ...occasion, ...around, batch: remains, result, id: replacementIdOf(eventId, fact) }),
  );
  return [
    ...keep(places.handedOver, remains, at + settings.inputRetentionMs),
    ...events.flatMap((event) => [
      emit(actorEvents, event),
      outcome('handed_over', {
        reason: event.type === 'signal.entry.removed' ? 'entry_removed' : 'entry_edited',
        about: { sourceEntryId: fact.sourceEntryId, actorEventId: event.id },
      }),
    ]),
  ];
}

const keep = (
  place: ReturnType<typeof changePlaces>['handedOver'],
  batch: OpenBatch | undefined,
  expireAt: number,
): readonly Effect[] => [batch === undefined ? remove(place) : put(place, { batch }, expireAt)];

import type { BatchDue } from '../../schemas/accepted-fact.ts';
import { type Effect, outcome } from '../../shared/stage/index.ts';
import { closeBatches, keepBatches } from './batch/close.ts';
import { findDue, resultOf } from './batch/finalise.ts';
import type { Settings } from './config.ts';
import type { DueView } from './places.ts';

/** A timer: the batch that it is for closes, unless it changed since or is closed. */
export function closeDue({
  view,
  due,
  at,
  settings,
}: {
  readonly view: DueView;
  readonly due: BatchDue;
  readonly at: number;
  readonly settings: Settings;
}): readonly Effect[] {
  const { route, signalChannelId } = due;
  const { batches: before, channel } = view;
  const found = findDue(before?.batches ?? [], due, at);
  if (found.type === 'nothing' || before === undefined || channel === undefined) {
    const reason = found.type === 'nothing' ? found.reason : 'signal_channel_not_found';
    return [outcome('ignored', { reason })];
  }
  const { batch } = found;
  const closing = closeBatches([batch], {
    route,
    channel,
    recent: view.recent?.entries ?? [],
    shownEntryIds: before.shownEntryIds,
    at,
    inputRetentionMs: settings.inputRetentionMs,
  });
  const batches = before.batches.filter((each) => each !== batch);
  return [
    ...closing.effects,
    ...keepBatches(route, signalChannelId, before, { batches, shownEntryIds: closing.shownEntryIds }),
    ...(resultOf(batch) === 'no_actor_event' ? [outcome('ignored', { reason: 'no_actor_event' })] : []),
  ];
}

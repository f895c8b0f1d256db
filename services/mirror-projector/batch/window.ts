import type { BatchEntry, OpenBatch } from '../../../schemas/batch.ts';
import type { BatchWindows } from '../../../schemas/binding.ts';
import { stated } from '../../../shared/provider.ts';
import { lengthOf } from './text-length.ts';

/** How long a batch waits, in milliseconds, where its binding says nothing else. */
export const defaultWindows = {
  addressedMs: 1_000,
  addressedAttachmentsMs: 1_200,
  addressedLongTextMs: 2_000,
  neutralMs: 600,
  neutralAttachmentsMs: 1_200,
  ambientMs: 15_000,
  ambientMostMs: 300_000,
  pendingAttachmentMs: 4_000,
} as const satisfies Required<BatchWindows>;

/** From here on a text is long: its sender types more slowly, and more of it fits a batch. */
export const longText = 3_000;

/** When a batch closes: a window after the last that was told, by what its last entry holds. */
export function dueAtOf(
  { mode, policy, entries }: Pick<OpenBatch, 'mode' | 'policy' | 'entries'>,
  windows: BatchWindows = {},
): number {
  const all = { ...defaultWindows, ...stated(windows) };
  const pending = entries.flatMap(pendingSince);
  // A cap: whatever else is told meanwhile, a download that never ends keeps nobody waiting longer.
  if (pending.length > 0) return Math.min(...pending) + all.pendingAttachmentMs;

  const last = entries.at(-1);
  const told = Math.max(...entries.map(({ observedAt }) => observedAt));
  // What was said ends with the message, not with the download of its file.
  const from = last === undefined ? told : (downloadedSince(last) ?? told);
  const attached = (last?.fact.attachments ?? []).length > 0;

  if (mode === 'addressed') {
    if (last !== undefined && lengthOf(last.fact.text) >= longText) return from + all.addressedLongTextMs;
    return from + (attached ? all.addressedAttachmentsMs : all.addressedMs);
  }
  if (policy === 'may_intervene') {
    const first = Math.min(...entries.map(({ receivedAt }) => receivedAt));
    return Math.min(told + all.ambientMs, first + all.ambientMostMs);
  }
  return from + (attached ? all.neutralAttachmentsMs : all.neutralMs);
}

const observedAtOf = ({ fact }: BatchEntry, states: readonly string[]): readonly number[] =>
  (fact.attachments ?? []).flatMap(({ materialization }) =>
    materialization !== undefined && states.includes(materialization.state) ? [materialization.observedAt] : [],
  );

const pendingSince = (entry: BatchEntry): readonly number[] => observedAtOf(entry, ['pending']);

const downloadedSince = (entry: BatchEntry): number | undefined =>
  observedAtOf(entry, ['complete', 'failed']).toSorted((a, b) => a - b)[0];

import { z } from 'zod';
import { Decision } from './decision.ts';
import { defineProjection } from './define.ts';
import { rowKey } from './row-key.ts';

const stage = 'decision-journal';

/** All decisions on one fact, oldest first; `dropped` counts those past the bound. */
export const Journey = z.object({
  decisions: z.array(Decision),
  dropped: z.int().nonnegative(),
});
export type Journey = z.infer<typeof Journey>;

/** The journey of each fact, by the id of its raw fact. */
export const journeys = defineProjection({
  name: 'journeys',
  stage,
  summary: 'All decisions on one fact.',
  value: Journey,
  place: (rootId: string) => ({ key: rootId, owner: rootId }),
});

/** The facts that something belongs to, newest last. */
export const JourneyIndex = z.object({ rootIds: z.array(z.string()) });
export type JourneyIndex = z.infer<typeof JourneyIndex>;

/** A way to find a journey. */
export type JourneyHandle =
  | { readonly by: 'provider-event'; readonly id: string }
  | { readonly by: 'entry'; readonly signalChannelId: string; readonly sourceEntryId: string }
  | { readonly by: 'actor-event'; readonly id: string };

/** The text by which an index row is kept. */
export const handleKey = (handle: JourneyHandle): string => {
  switch (handle.by) {
    case 'provider-event':
    case 'actor-event':
      return rowKey(handle.by, handle.id);
    case 'entry':
      return rowKey(handle.by, handle.signalChannelId, handle.sourceEntryId);
  }
};

/** Finds journeys by what they are about. A row lies in the partition of each fact, so a reader asks all partitions. */
export const journeyIndex = defineProjection({
  name: 'journey-index',
  stage,
  summary: 'Finds journeys by provider event, entry or actor event.',
  value: JourneyIndex,
  place: ({ handle, rootId }: { readonly handle: JourneyHandle; readonly rootId: string }) => ({
    key: handleKey(handle),
    owner: rootId,
  }),
});

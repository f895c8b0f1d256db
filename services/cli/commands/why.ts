import { z } from 'zod';
import { BusError } from '../../../shared/errors.ts';
import type { Question } from '../../../shared/journey/find.ts';
import { tellJourneys } from '../../../shared/journey/tell.ts';
import { defineCommand } from '../command.ts';
import { parseSpan } from '../time.ts';
import { showJourneys } from '../why/show.ts';
import { openJourneyWorld } from '../why/world.ts';

const questionOf = ([first = '', second]: readonly string[]): Question =>
  second === undefined ? { by: 'id', id: first } : { by: 'entry', signalChannelId: first, sourceEntryId: second };

export const why = defineCommand({
  name: 'why',
  summary: 'Tell what became of a fact: every hop, outcome and reason.',
  details:
    'Takes the id of a raw fact, of an event at its provider or of an actor event, a position in the log ' +
    '(topic/partition/offset), or two ids: those of a channel and of an entry in it. Content is never shown, only ids. ' +
    'A redelivery is a fact of its own; all that fit are shown, the newest last.',
  examples: [
    'signalbox why 72d3162e-cc78-11e3-81ab-4c9367dc0958',
    "signalbox why 'github:octo/repo#7' issue_comment:492700400",
    'signalbox why raw-provider-facts/3/17 --json',
  ],
  options: z.strictObject({
    ids: z.array(z.string().trim().min(1)).min(1).max(2).describe('One id, or a channel and an entry.'),
    limit: z.coerce.number().int().min(1).max(100).default(10).describe('How many facts at most, the newest.'),
    since: z
      .string()
      .default('15m')
      .refine((text) => parseSpan(text) !== undefined, { error: 'must be like 90s, 15m, 2h or 1d' })
      .meta({
        description: 'How far back to look in the log for a fact that nothing was decided about yet.',
        placeholder: 'span',
      }),
  }),
  positional: ['ids'],

  async run({ ids, limit, since }, context) {
    const world = await openJourneyWorld(context);
    const told = await tellJourneys(
      questionOf(ids),
      { limit, since: context.clock.now() - (parseSpan(since) ?? 0) },
      world,
    );
    if (told.journeys.length === 0) throw new BusError('journey-not-found', { ids, 'looked back': since });
    return told;
  },

  show({ journeys, omitted }, page) {
    const older = omitted === 0 ? [] : [page.style.dim(`${omitted} older facts are left out; --limit shows more.`)];
    return [...older, showJourneys(journeys, page)].join('\n\n');
  },
});

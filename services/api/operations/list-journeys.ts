import { z } from 'zod';
import { BusError } from '../../../shared/errors.ts';
import { JourneyReport } from '../../../shared/journey/report.ts';
import { members } from '../members.ts';
import { defineOperation } from '../world.ts';

export const listJourneys = defineOperation({
  name: 'list-journeys',
  summary: 'Tell what became of a fact: every hop, outcome and reason.',
  details:
    'Takes the id of a raw fact, of an event at its provider or of an actor event, a position in the log ' +
    '(topic/partition/offset), or `signalChannelId` and `sourceEntryId`. Content is never shown, only ids. The same as ' +
    '`signalbox why`.',
  http: 'GET /journeys',
  scope: 'journeys:read',
  reach: 'all',
  input: z.strictObject({
    id: z.string().trim().min(1).max(600).optional().describe('One id of any kind, or a position.'),
    signalChannelId: members.signalChannelId.optional(),
    sourceEntryId: members.sourceEntryId.optional(),
    limit: z.coerce.number().int().min(1).max(100).default(10).describe('How many facts at most, the newest.'),
  }),
  output: z.object({
    journeys: z.array(JourneyReport).describe('The newest last.'),
    omitted: z.int().describe('Older ones that were left out.'),
  }),
  example: { id: '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
  fails: ['agent-forbidden', 'journey-not-found'],

  async handle({ limit, ...asked }, { tellJourneys }) {
    const told = await tellJourneys(questionOf(asked), limit);
    if (told.journeys.length === 0) throw new BusError('journey-not-found', asked);
    const journeys = told.journeys.map(({ about, hops, ...journey }) => ({
      ...journey,
      about: { ...about },
      hops: [...hops],
    }));
    return { journeys, omitted: told.omitted };
  },
});

function questionOf({
  id,
  signalChannelId,
  sourceEntryId,
}: {
  readonly id?: string | undefined;
  readonly signalChannelId?: string | undefined;
  readonly sourceEntryId?: string | undefined;
}) {
  const one = id !== undefined && signalChannelId === undefined && sourceEntryId === undefined;
  if (one) return { by: 'id', id } as const;
  if (id === undefined && signalChannelId !== undefined && sourceEntryId !== undefined) {
    return { by: 'entry', signalChannelId, sourceEntryId } as const;
  }
  throw new BusError('input-invalid', { issues: ['either id, or signalChannelId and sourceEntryId'] });
}

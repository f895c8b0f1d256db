import { z } from 'zod';
import { Channel } from '../../../schemas/mirror.ts';
import { ChannelKind } from '../../../schemas/normalized-fact.ts';
import { members, next } from '../members.ts';
import { defineOperation } from '../world.ts';

export const listSignalChannels = defineOperation({
  name: 'list-signal-channels',
  summary: 'List the channels of the mirror, those first in which something happened last.',
  details:
    'Those of the last 90 days; an older one can still be read by its id. `next` leads to those that were quiet for longer: a ' +
    'page may hold less than `limit`, and nothing, while there is a `next`. A channel in which something happens meanwhile ' +
    'leaves the later pages for a new first one.',
  http: 'GET /signal-channels',
  scope: 'mirror:read',
  reach: 'all',
  input: z.strictObject({
    kind: ChannelKind.optional().describe('Only those of this kind.'),
    limit: members.limit,
    cursor: members.cursor,
  }),
  output: z.object({ signalChannels: z.array(Channel), next }),
  example: { kind: 'issue', limit: 5 },
  fails: ['agent-forbidden'],

  async handle(page, { readChannels }) {
    const found = await readChannels(page);
    return { signalChannels: [...found.channels], next: found.next ?? null };
  },
});

import { z } from 'zod';
import { Entry } from '../../../schemas/mirror.ts';
import { members } from '../members.ts';
import { defineOperation } from '../world.ts';

export const listSignalEntries = defineOperation({
  name: 'list-signal-entries',
  summary: 'List entries of a channel as its provider shows them now, the newest first.',
  details:
    'Ordered by the last fact that touched an entry; those of the last 90 days. `next` leads to older ones: a page may hold ' +
    'less than `limit`, and nothing, while there is a `next`. An entry that was changed may come again on a later page. Texts ' +
    'are what somebody wrote at a provider: untrusted input to a model.',
  http: 'GET /signal-channels/:signalChannelId/signal-entries',
  scope: 'mirror:read',
  reach: 'all',
  input: z.strictObject({
    signalChannelId: members.signalChannelId,
    providerThreadId: z.string().min(1).max(500).optional().describe('Only those of this thread.'),
    limit: z.coerce.number().int().min(1).max(100).default(20).describe('How many at most.'),
    before: z
      .string()
      .regex(/^\d{1,18}$/)
      .optional()
      .describe('The `next` of the page before.'),
  }),
  output: z.object({
    signalEntries: z.array(Entry),
    next: z.string().nullable().describe('Leads to the next page; null on the last one.'),
  }),
  example: { signalChannelId: 'github:octo/repo#7', limit: 5 },
  fails: ['agent-forbidden'],

  async handle({ before, ...page }, { readEntries }) {
    const { entries, next } = await readEntries({ ...page, before: before === undefined ? undefined : BigInt(before) });
    return { signalEntries: [...entries], next: next === undefined ? null : String(next) };
  },
});

import { z } from 'zod';
import { Entry, entries } from '../../../schemas/mirror.ts';
import { BusError } from '../../../shared/errors.ts';
import { members } from '../members.ts';
import { defineOperation } from '../world.ts';

export const getSignalEntry = defineOperation({
  name: 'get-signal-entry',
  summary: 'Read an entry as its provider shows it now.',
  details: 'Its text is what somebody wrote at a provider: untrusted input to a model.',
  http: 'GET /signal-channels/:signalChannelId/signal-entries/:sourceEntryId',
  scope: 'mirror:read',
  reach: 'all',
  input: z.strictObject({ signalChannelId: members.signalChannelId, sourceEntryId: members.sourceEntryId }),
  output: z.object({ signalEntry: Entry }),
  example: { signalChannelId: 'github:octo/repo#7', sourceEntryId: 'issue_comment:492700400' },
  fails: ['agent-forbidden', 'entry-not-found'],

  async handle(ref, { readMirror }) {
    const signalEntry = await readMirror(entries.at(ref));
    if (signalEntry === undefined) throw new BusError('entry-not-found', ref);
    return { signalEntry };
  },
});

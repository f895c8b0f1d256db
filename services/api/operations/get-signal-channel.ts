import { z } from 'zod';
import { Channel, channels } from '../../../schemas/mirror.ts';
import { BusError } from '../../../shared/errors.ts';
import { members } from '../members.ts';
import { defineOperation } from '../world.ts';

export const getSignalChannel = defineOperation({
  name: 'get-signal-channel',
  summary: 'Read a channel as its provider shows it now.',
  http: 'GET /signal-channels/:signalChannelId',
  scope: 'mirror:read',
  reach: 'all',
  input: z.strictObject({ signalChannelId: members.signalChannelId }),
  output: z.object({ signalChannel: Channel }),
  example: { signalChannelId: 'github:octo/repo#7' },
  fails: ['agent-forbidden', 'channel-not-found'],

  async handle({ signalChannelId }, { readMirror }) {
    const signalChannel = await readMirror(channels.at(signalChannelId));
    if (signalChannel === undefined) throw new BusError('channel-not-found', { signalChannelId });
    return { signalChannel };
  },
});

import { z } from 'zod';
import { defineProvider, originIn, ownIds, parseJson } from '../../provider.ts';
import { signingHeaders, signingKeyCheck, signingSettings, verifySigned } from '../../signed-webhook.ts';
import { normalizeMapped } from './facts.ts';
import { Mapping } from './mapping.ts';
import { channelIn, eventTypeIn, unnamedType } from './names.ts';

const config = z
  .strictObject({
    ...signingSettings,
    ownAccountIds: ownIds.ownAccountIds,
    mapping: Mapping.optional().describe('How the JSON becomes facts: see the notes.'),
  })
  .refine(...signingKeyCheck);

/** Standard Webhooks: the signed JSON of any sender, in, as a mapping of the connection reads it. */
export const provider = defineProvider<z.infer<typeof config>>({
  name: 'standard-webhooks',
  title: 'Standard Webhooks',
  config,
  kinds: ['events'],
  keepHeaders: ['content-type', 'webhook-id', 'webhook-timestamp', 'svix-id', 'svix-timestamp'],

  verify: (request, { webhookSecret }, now) => verifySigned(request, webhookSecret, now),

  identify({ headers, connectionId, body: bytes }, { mapping = {} }) {
    const eventId = signingHeaders(headers)?.id;
    if (eventId === undefined || eventId.length > 200) return undefined;
    const body = parseJson(bytes.toString('utf8'));
    const type = eventTypeIn(body, mapping);
    const channel = channelIn({ connectionId, body }, mapping);
    return {
      eventId,
      event: type.ok ? type.value : unnamedType,
      ...(channel.ok && { signalChannelId: channel.value }),
    };
  },

  normalize: (event, { mapping = {} }) => normalizeMapped(event, mapping),
  origin: originIn,
});

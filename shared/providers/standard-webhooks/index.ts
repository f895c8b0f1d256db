import { z } from 'zod';
import { defineProvider, originIn, ownIds, parseJson } from '../../provider.ts';
import { secret } from '../../secret.ts';
import { keyIn, signingHeaders, verifySigned } from '../../signed-webhook.ts';
import { normalizeMapped } from './facts.ts';
import { Mapping } from './mapping.ts';
import { channelIn, eventTypeIn, unnamedType } from './names.ts';

const config = z
  .strictObject({
    webhookSecret: secret().describe('Base64, also after whsec_; or an Ed25519 public key in base64 after whpk_.'),
    ownAccountIds: ownIds.ownAccountIds,
    mapping: Mapping.optional().describe('How the JSON becomes facts: see the notes.'),
  })
  .refine(({ webhookSecret }) => keyIn(webhookSecret) !== undefined, {
    path: ['webhookSecret'],
    when: ({ issues }) => issues.length === 0,
    error: 'A key is expected: base64, also after whsec_, or an Ed25519 public key in base64 after whpk_.',
  });

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

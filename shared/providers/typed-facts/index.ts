import { z } from 'zod';
import { defineProvider, originIn, ownIds, parseJson } from '../../provider.ts';
import { signingHeaders, signingKeyCheck, signingSettings, verifySigned } from '../../signed-webhook.ts';
import { channelIdIn, factIn } from './facts.ts';
import { isObject, textOf } from './members.ts';

const config = z
  .strictObject({
    ...signingSettings,
    ownAccountIds: ownIds.ownAccountIds,
  })
  .refine(...signingKeyCheck);

/** Facts as the bus knows them, from adapters of one's own: a worker that holds a socket open, a bridge, a script. */
export const provider = defineProvider<z.infer<typeof config>>({
  name: 'typed-facts',
  title: 'Typed facts',
  config,
  kinds: ['facts'],
  keepHeaders: ['content-type', 'webhook-id', 'webhook-timestamp', 'svix-id', 'svix-timestamp'],

  verify: (request, { webhookSecret }, now) => verifySigned(request, webhookSecret, now),

  identify({ headers, connectionId, body: bytes }) {
    const body = parseJson(bytes.toString('utf8'));
    const fact = isObject(body) ? body : {};
    // The event is the adapter's to name; a fact without a name of its own is as new as its webhook.
    const eventId = textOf(fact.sourceEventId) ?? signingHeaders(headers)?.id;
    if (eventId === undefined || eventId.length > 200) return undefined;
    const signalChannelId = channelIdIn(fact, connectionId);
    return {
      eventId,
      event: textOf(fact.type)?.slice(0, 100) ?? 'unknown',
      ...(signalChannelId !== undefined && { signalChannelId }),
    };
  },

  normalize: factIn,
  // What names the agent that wrote it is mirrored, and wakes no agent that it names.
  origin: (fact) => (fact.type === 'entry_received' && fact.author.agentUid !== undefined ? {} : originIn(fact)),
});

import { z } from 'zod';
import {
  defineProvider,
  issuesOf,
  type Normalization,
  type Origin,
  ownIds,
  type ProviderEvent,
  parseJson,
} from '../../provider.ts';
import { type Secret, secret } from '../../secret.ts';
import { hmac, isEqual } from '../../signature.ts';
import { events } from './events.ts';
import { channelOf, factOf } from './facts.ts';
import { Envelope } from './payload.ts';
import { requestedAction } from './requested-action.ts';

const config = z.strictObject({
  webhookSecret: secret().describe('The secret of the webhook at GitHub.'),
  ...ownIds,
});

/** GitHub: issues, pull requests, reviews, discussions and their comments, and clicks on check runs, in. */
export const provider = defineProvider<z.infer<typeof config>>({
  name: 'github',
  title: 'GitHub',
  config,
  kinds: ['events'],
  keepHeaders: [
    'content-type',
    'x-github-delivery',
    'x-github-event',
    'x-github-hook-id',
    'x-github-hook-installation-target-id',
    'x-github-hook-installation-target-type',
  ],

  verify({ headers, body }, { webhookSecret }) {
    const given = headers['x-hub-signature-256'];
    if (given === undefined) return { ok: false, reason: 'x-hub-signature-256 is missing' };
    return isEqual(signatureOf(webhookSecret, body), given)
      ? { ok: true }
      : { ok: false, reason: 'x-hub-signature-256 does not match' };
  },

  identify({ headers, body }) {
    const eventId = headers['x-github-delivery'];
    const event = headers['x-github-event'];
    if (!isName(eventId) || !isName(event)) return undefined;
    const signalChannelId = channelOf(decode(body.toString('utf8')));
    return { eventId, event, ...(signalChannelId !== undefined && { signalChannelId }) };
  },

  handshake: ({ headers }) => (headers['x-github-event'] === 'ping' ? { status: 200 } : undefined),

  decode,
  normalize,
  origin: (_fact, event) => originOf(event),
});

/** What `X-Hub-Signature-256` must be. The older `X-Hub-Signature` is SHA-1, and is never looked at. */
function signatureOf(webhookSecret: Secret, body: Buffer): string {
  return `sha256=${hmac({ algorithm: 'sha256', key: webhookSecret, content: body, encoding: 'hex' })}`;
}

const isName = (header: string | undefined): header is string =>
  header !== undefined && header.length >= 1 && header.length <= 200;

/** A webhook of content type `application/x-www-form-urlencoded` has its JSON in the field `payload`. */
function decode(text: string): unknown {
  if (!text.startsWith('payload=')) return parseJson(text);
  return parseJson(new URLSearchParams(text).get('payload') ?? '');
}

function normalize({ event, body }: ProviderEvent): Normalization {
  if (event === undefined) return { type: 'invalid', issues: ['event: missing'] };
  const action = Acted.safeParse(body).data?.action;
  const ignored = { type: 'ignored', reason: action === undefined ? event : `${event}.${action}` } as const;

  const reader = events.get(event);
  const isClick = event === 'check_run' && action === 'requested_action';
  if (reader === undefined && !isClick) return ignored;
  if (action === undefined) return { type: 'invalid', issues: ['action: invalid_format'] };
  if (reader !== undefined && !reader.actions.includes(action)) return ignored;

  const envelope = Envelope.safeParse(body);
  if (!envelope.success) return { type: 'invalid', issues: issuesOf(envelope.error) };
  if (action === 'edited' && isBesideText(envelope.data.changes)) return ignored;

  if (reader === undefined) return requestedAction(body, envelope.data);
  const read = reader.read(body);
  if (!read.ok) return { type: 'invalid', issues: read.issues };
  return { type: 'facts', facts: [factOf({ action, envelope: envelope.data, reading: read.reading })] };
}

/** The sender acted; the entry is of its user, and an app may have written it in that user's name. */
function originOf({ event = '', body }: ProviderEvent): Origin {
  const { sender } = Envelope.parse(body);
  const read = events.get(event)?.read(body);
  const entry = read?.ok ? read.reading.entry : undefined;
  return { by: idOf(sender), writtenBy: idOf(entry?.user), app: idOf(entry?.performed_via_github_app) };
}

const idOf = (of: { readonly id: number } | null | undefined): string | undefined => (of ? String(of.id) : undefined);

const Acted = z.object({ action: z.string().regex(/^[a-z0-9_]{1,100}$/) });

/** Whether an edit names what it changed, and it is neither the title nor the text: a new base branch, for example. */
function isBesideText(changes: Envelope['changes']): boolean {
  const changed = Object.keys(changes ?? {});
  return changed.length > 0 && !changed.includes('title') && !changed.includes('body');
}

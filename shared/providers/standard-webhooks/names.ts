import { z } from 'zod';
import { SignalChannelId, SourceEntryId } from '../../../schemas/ids.ts';
import type { ProviderEvent } from '../../provider.ts';
import type { Mapping } from './mapping.ts';
import { type Rendered, render } from './template.ts';

/** The type of an event whose body names none. */
export const unnamedType = 'standard-webhooks.event';

const EventType = z.string().max(100);

/** What names a fact: where it belongs, what it is about and what happened, in the sender's own word. */
export interface Names {
  readonly signalChannelId: SignalChannelId;
  readonly sourceEntryId: SourceEntryId;
  readonly eventType: string;
}

/** A name, or why the body does not give it: members and paths of the mapping, never values. */
type Named<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly issues: readonly string[] };

type Source = Pick<ProviderEvent, 'eventId' | 'connectionId' | 'body'>;

/** The channel: always within the connection, so that no sender can write to what belongs to another. */
export function channelIn(
  { connectionId, body }: Omit<Source, 'eventId'>,
  { channelId }: Mapping,
): Named<SignalChannelId> {
  const whole = `standard-webhooks:${connectionId}`;
  if (channelId === undefined) return named('channelId', { ok: true, text: whole }, SignalChannelId);
  const part = render(channelId, body);
  return named('channelId', part.ok ? { ok: true, text: `${whole}:${part.text}` } : part, SignalChannelId);
}

/** What happened, as the sender calls it. */
export function eventTypeIn(body: unknown, { eventType }: Mapping): Named<string> {
  if (eventType !== undefined) return named('eventType', render(eventType, body), EventType);
  const type = render('{type}', body);
  return named('eventType', type.ok ? type : { ok: true, text: unnamedType }, EventType);
}

function entryIn({ eventId, body }: Source, { entryId }: Mapping): Named<SourceEntryId> {
  if (entryId !== undefined) return named('entryId', render(entryId, body), SourceEntryId);
  const id: Rendered =
    eventId === undefined ? { ok: false, missing: ['the id of the webhook'] } : { ok: true, text: eventId };
  return named('entryId', id, SourceEntryId);
}

/** The names of the fact in one webhook, or all that keeps it from having them. */
export function namesIn(source: Source, mapping: Mapping): Named<Names> {
  const channel = channelIn(source, mapping);
  const entry = entryIn(source, mapping);
  const type = eventTypeIn(source.body, mapping);
  if (channel.ok && entry.ok && type.ok) {
    return { ok: true, value: { signalChannelId: channel.value, sourceEntryId: entry.value, eventType: type.value } };
  }
  return { ok: false, issues: [channel, entry, type].flatMap((name) => (name.ok ? [] : name.issues)) };
}

function named<S extends z.ZodType>(member: keyof Mapping, rendered: Rendered, schema: S): Named<z.infer<S>> {
  if (!rendered.ok) {
    return { ok: false, issues: rendered.missing.map((place) => `mapping.${member}: ${place} is missing`) };
  }
  const parsed = schema.safeParse(rendered.text);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, issues: parsed.error.issues.map(({ code }) => `mapping.${member}: ${code}`) };
}

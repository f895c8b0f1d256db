import type { Author } from '../../../schemas/normalized-fact.ts';
import { instantOf } from '../../instant.ts';
import { type Normalization, type ProviderEvent, type ProviderFact, stated } from '../../provider.ts';
import type { Mapping } from './mapping.ts';
import { type Names, namesIn } from './names.ts';
import { render, valueAt } from './template.ts';

/** What the bus itself says to agents. A sender that uses such a name speaks for itself, under its own prefix. */
const reserved = /^(?:im|signal|command|cron|session|check_back_later|webhook|goal)\./;

/** The fact in one webhook. What names it must be there; what describes it is left out where the body lacks it. */
export function normalizeMapped(event: ProviderEvent, mapping: Mapping): Normalization {
  const names = namesIn(event, mapping);
  if (!names.ok) return { type: 'invalid', issues: names.issues };
  return { type: 'facts', facts: [factOf(names.value, event, mapping)] };
}

function factOf({ eventType, ...ids }: Names, event: ProviderEvent, mapping: Mapping): ProviderFact {
  const { body } = event;
  const about = {
    ...ids,
    channel: {
      kind: mapping.channelKind ?? 'webhook_endpoint',
      replyMode: mapping.replyMode ?? 'none',
      ...stated({ name: said(mapping.channelName, body)?.slice(0, 1_000) }),
    },
  };
  const author = authorOf(event, mapping);
  if (mapping.removedWhen?.includes(eventType)) {
    return {
      type: 'entry_lifecycle',
      ...about,
      lifecycleKind: 'removed',
      providerLifecycleKind: eventType,
      actor: author,
    };
  }
  return {
    type: 'entry_received',
    ...about,
    author,
    actorEventType: actorEventType(eventType),
    ...stated({
      title: said(mapping.title, body)?.slice(0, 2_000),
      text: mapping.text === undefined ? JSON.stringify(body) : said(mapping.text, body),
      providerTime: instantOf(valueAt(body, mapping.providerTime ?? 'timestamp')),
    }),
  };
}

/** What a template says; undefined without one, or where the body lacks a member that it names. */
function said(template: string | undefined, body: unknown): string | undefined {
  const rendered = template === undefined ? undefined : render(template, body);
  return rendered?.ok ? rendered.text : undefined;
}

/** Who wrote it: whom the mapping finds in the body, else the sender itself. */
function authorOf({ connectionId, body }: ProviderEvent, { authorId, authorName }: Mapping): Author {
  const id = said(authorId, body)?.slice(0, 200);
  const displayName = said(authorName, body)?.slice(0, 500);
  return {
    ...(id === undefined ? { id: connectionId, kind: 'app' } : { id, kind: 'unknown' }),
    ...stated({ displayName }),
  };
}

/** The type of the actor event: the sender's word in the letters that such types have. */
function actorEventType(eventType: string): string {
  const name = eventType.toLowerCase().replaceAll(/[^a-z0-9_.-]/g, '_');
  return (reserved.test(name) ? `standard-webhooks.${name}` : name).slice(0, 100);
}

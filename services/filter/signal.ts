import type { Binding } from '../../schemas/binding.ts';
import { type EntryReceived, type NormalizedFact, senderKeyOf } from '../../schemas/normalized-fact.ts';
import { isExplicit } from '../../shared/addressing.ts';

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

/**
 * The two variables of a filter. Every group is there for every kind of fact, and a member that does not apply is null,
 * so that a filter which guards by `signal.kind` never meets an absent one.
 */
export function filterVariables(binding: Binding, fact: NormalizedFact, gatewayTime: number) {
  return {
    binding: { name: binding.name, adapter: binding.adapter },
    signal: {
      kind: fact.type,
      agentUid: binding.agentUid,
      sourceEventId: fact.sourceEventId,
      gatewayTime: iso(gatewayTime),
      channel: {
        id: fact.signalChannelId,
        kind: fact.channel.kind ?? 'unknown',
        replyMode: fact.channel.replyMode ?? 'none',
        name: fact.channel.name ?? null,
        visibility: fact.channel.visibility ?? null,
        metadata: fact.channel.metadata ?? {},
      },
      entry: {
        id: fact.sourceEntryId ?? null,
        sourceEntryId: fact.sourceEntryId ?? null,
        threadId: fact.providerThreadId ?? null,
        providerThreadId: fact.providerThreadId ?? null,
        metadata: fact.metadata ?? {},
        providerTime: iso(fact.providerTime),
        ...(fact.type === 'entry_received' ? written(fact, binding) : unwritten),
        ...(fact.type === 'action' && { actorEventType: fact.actorEventType ?? null }),
      },
      lifecycle: {
        kind: fact.type === 'entry_lifecycle' ? fact.lifecycleKind : null,
        providerKind: fact.type === 'entry_lifecycle' ? (fact.providerLifecycleKind ?? null) : null,
      },
      reaction:
        fact.type === 'reaction'
          ? {
              key: fact.reactionKey,
              rawKey: fact.rawReactionKey ?? fact.reactionKey,
              actorKey: fact.actorKey,
              action: fact.action,
            }
          : unreacted,
      action:
        fact.type === 'action'
          ? { id: fact.actionId, actorKey: fact.actor?.id ?? null, payload: fact.action }
          : { id: null, actorKey: null, payload: null },
      command: { prefixes: fact.type === 'entry_received' ? (fact.commandPrefixes ?? []) : null, payload: null },
    },
  };
}

const unreacted = { key: null, rawKey: null, actorKey: null, action: null };

const written = (fact: EntryReceived, { agentUid }: Binding) => ({
  replyToSourceEntryId: fact.replyToSourceEntryId ?? null,
  senderKey: senderKeyOf(fact),
  actorEventType: fact.actorEventType ?? null,
  title: fact.title ?? null,
  text: fact.text ?? null,
  formattedContent: fact.formattedContent ?? null,
  attachments: fact.attachments ?? [],
  links: fact.links ?? [],
  author: fact.author,
  mentions: fact.mentions ?? [],
  explicit: isExplicit(fact, agentUid),
  mirrorOnly: fact.mirrorOnly ?? false,
});

const unwritten: { readonly [K in keyof ReturnType<typeof written>]: null } = {
  replyToSourceEntryId: null,
  senderKey: null,
  actorEventType: null,
  title: null,
  text: null,
  formattedContent: null,
  attachments: null,
  links: null,
  author: null,
  mentions: null,
  explicit: null,
  mirrorOnly: null,
};

import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type ActorEvent, actorEvents, type ReplacementEvent, sessionOfChannel } from '../../schemas/actor-event.ts';
import type { SessionId } from '../../schemas/ids.ts';
import type { HandedOverInput, HandledRevision } from '../../schemas/mirror.ts';
import type { Attachment, EntryLifecycle, EntryReceived } from '../../schemas/normalized-fact.ts';
import { rowKey } from '../../schemas/row-key.ts';
import { stated } from '../../shared/provider.ts';
import { type Effect, emit, later } from '../../shared/stage/index.ts';
import { contentOf, eventOf, type Occasion, subjectOfEntry } from './actor-event.ts';
import { documentIdOf, entryOf } from './entry.ts';

/** Each of them is told with a replacement, so many must fit into one event. Older ones are done with, most likely. */
const mostInputs = 8;

/** The events that the agent has of an entry, as far as they are still remembered. */
export const inputsOf = (handled: HandledRevision | undefined, at: number, retentionMs: number): HandedOverInput[] =>
  (handled?.inputs ?? []).filter((input) => at - input.at < retentionMs);

/** The same with one more. */
export const withInput = (inputs: readonly HandedOverInput[], event: ActorEvent, at: number): HandedOverInput[] =>
  [...inputs, { eventId: event.id, type: event.type, at }].slice(-mostInputs);

/** Whether a file of an entry is still being downloaded. */
export const awaitsFiles = ({ attachments = [] }: { readonly attachments?: readonly Attachment[] | undefined }) =>
  attachments.some(({ materialization }) => materialization?.state === 'pending');

/** Whether this fact brings the files of an entry that was handed over without them. */
export const bringsFiles = (fact: EntryReceived, handled: HandledRevision | undefined): boolean =>
  handled?.awaitsFiles === true && !awaitsFiles(fact);

/** Whether this fact changes what the agent was given, so that it is told of the change and not of something new. */
export const isChangeOfInput = (
  route: RouteOfFact,
  fact: EntryReceived,
  handled: HandledRevision | undefined,
  inputs: readonly HandedOverInput[],
): boolean =>
  inputs.length > 0 && (bringsFiles(fact, handled) || (fact.edited === true && route.entryEditedEvents !== false));

/** A change of an entry that agents were given, and the events by which they were. */
export interface Change {
  readonly fact: EntryReceived | EntryLifecycle;
  readonly inputs: readonly HandedOverInput[];
}

/** The id of what takes the place of an event when one of its entries is removed or edited. */
export const replacementIdOf = (eventId: string, fact: Change['fact']): string =>
  fact.type === 'entry_lifecycle'
    ? `retry:${eventId}:without:${fact.sourceEntryId}`
    : `retry:${eventId}:with:${fact.sourceEventId}`;

/**
 * Tells the sessions that have an entry what became of it: at once, or once the row is read of the event that holds other
 * messages too. `first` is what tells it, where that is known by now.
 */
export function tellChange(
  occasion: Occasion,
  change: Change,
): { readonly effects: readonly Effect[]; readonly first?: ActorEvent } {
  const { route, at } = occasion;
  const { fact, inputs } = change;
  if (inputs.some(({ merged }) => merged === true)) {
    const key = rowKey('input', route.agentUid, route.bindingName, fact.signalChannelId, fact.sourceEventId);
    return { effects: [later(key, at, { type: 'input.changed', route, fact, inputs: [...inputs] })] };
  }
  const events = noticesOf(occasion, change, () => undefined);
  const [first] = events;
  return { effects: events.map((event) => emit(actorEvents, event)), ...stated({ first }) };
}

/**
 * One `signal.entry.removed` or `signal.entry.edited` for each session that has the entry, with what takes the place of each
 * event that held it. `merged` is what remains of an event of several messages; of one that held this entry alone it is the
 * entry as it is now, or nothing.
 */
export function noticesOf(
  occasion: Occasion,
  { fact, inputs: all }: Change,
  merged: (input: HandedOverInput) => ReplacementEvent | undefined,
): readonly ActorEvent[] {
  const subject = subjectOfEntry(fact);
  const isEdit = fact.type === 'entry_received';
  const content = isEdit ? contentOf(fact, entryOf(fact, undefined, occasion.at)) : goneContent(fact);
  const replaced = (input: HandedOverInput, sessionId: SessionId): ReplacementEvent | undefined => {
    if (input.merged === true) return merged(input);
    const { eventId, type } = input;
    return isEdit
      ? eventOf(occasion, { id: replacementIdOf(eventId, fact), type, subject, sessionId }, content)
      : undefined;
  };
  const kind = isEdit ? 'edited' : 'removed';
  return sessionsOf(occasion, all).map(([sessionId, inputs]) =>
    eventOf(
      occasion,
      { id: `${fact.sourceEventId}:${kind}:${sessionId}`, type: `signal.entry.${kind}`, subject, sessionId },
      {
        ...content,
        lifecycle: {
          kind,
          ...(isEdit
            ? stated({ providerKind: fact.actorEventType })
            : stated({ providerKind: fact.providerLifecycleKind, actor: fact.actor })),
          inputs: inputs.map((input) => ({
            eventId: input.eventId,
            ...stated({ replacement: replaced(input, sessionId) }),
          })),
        },
      },
    ),
  );
}

/** Of an entry that is gone its ids are told, and not what was in it. */
const goneContent = (fact: EntryLifecycle) => ({
  entry: {
    signalChannelId: fact.signalChannelId,
    sourceEntryId: fact.sourceEntryId,
    ...stated({ providerThreadId: fact.providerThreadId }),
    documentId: documentIdOf(fact),
  },
});

/** The inputs by the session that has them, in the order in which the sessions got theirs. */
function sessionsOf({ channel }: Occasion, inputs: readonly HandedOverInput[]) {
  const own = sessionOfChannel(channel.id);
  const sessions = new Map<SessionId, HandedOverInput[]>();
  for (const input of inputs) {
    const sessionId = input.sessionId ?? own;
    sessions.set(sessionId, [...(sessions.get(sessionId) ?? []), input]);
  }
  return [...sessions];
}

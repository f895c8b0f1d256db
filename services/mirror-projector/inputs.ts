import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type ActorEvent, type AffectedInput, sessionOfChannel } from '../../schemas/actor-event.ts';
import type { SessionId } from '../../schemas/ids.ts';
import type { Entry, HandedOverInput, HandledRevision } from '../../schemas/mirror.ts';
import type { EntryLifecycle, EntryReceived } from '../../schemas/normalized-fact.ts';
import { stated } from '../../shared/provider.ts';
import { contentOf, eventOf, type Occasion, subjectOfEntry } from './actor-event.ts';
import { documentIdOf } from './entry.ts';

/** Each of them is told with a replacement, so many must fit into one event. Older ones are done with, most likely. */
const mostInputs = 8;

/** The events that the agent has of an entry, as far as they are still remembered. */
export const inputsOf = (handled: HandledRevision | undefined, at: number, retentionMs: number): HandedOverInput[] =>
  (handled?.inputs ?? []).filter((input) => at - input.at < retentionMs);

/** The same with one more. */
export const withInput = (inputs: readonly HandedOverInput[], event: ActorEvent, at: number): HandedOverInput[] =>
  [...inputs, { eventId: event.id, type: event.type, at }].slice(-mostInputs);

/** Whether this fact changes what the agent was given, so that it is told of the change and not of something new. */
export const isEditOfInput = (route: RouteOfFact, fact: EntryReceived, inputs: readonly HandedOverInput[]): boolean =>
  fact.edited === true && inputs.length > 0 && route.entryEditedEvents !== false;

/** One `signal.entry.edited` for each session that has the entry: each of its events is replaced by one as it is now. */
export const editedEvents = (
  occasion: Occasion,
  told: { readonly fact: EntryReceived; readonly entry: Entry; readonly inputs: readonly HandedOverInput[] },
): readonly ActorEvent[] => {
  const { fact, entry } = told;
  const content = contentOf(fact, entry);
  const subject = subjectOfEntry(fact);
  return sessionsOf(occasion, told.inputs).map(([sessionId, inputs]) => {
    const replaced = inputs.map(({ eventId, type }): AffectedInput => {
      const id = `retry:${eventId}:with:${fact.sourceEventId}`;
      return { eventId, replacement: eventOf(occasion, { id, type, subject, sessionId }, content) };
    });
    const id = `${fact.sourceEventId}:edited:${sessionId}`;
    return eventOf(
      occasion,
      { id, type: 'signal.entry.edited', subject, sessionId },
      {
        ...content,
        lifecycle: { kind: 'edited', ...stated({ providerKind: fact.actorEventType }), inputs: replaced },
      },
    );
  });
};

/** One `signal.entry.removed` for each session that has the entry. What was in it is not told again. */
export const removedEvents = (
  occasion: Occasion,
  fact: EntryLifecycle,
  all: readonly HandedOverInput[],
): readonly ActorEvent[] =>
  sessionsOf(occasion, all).map(([sessionId, inputs]) =>
    eventOf(
      occasion,
      {
        id: `${fact.sourceEventId}:removed:${sessionId}`,
        type: 'signal.entry.removed',
        subject: subjectOfEntry(fact),
        sessionId,
      },
      {
        entry: {
          signalChannelId: fact.signalChannelId,
          sourceEntryId: fact.sourceEntryId,
          ...stated({ providerThreadId: fact.providerThreadId }),
          documentId: documentIdOf(fact),
        },
        lifecycle: {
          kind: 'removed',
          ...stated({ providerKind: fact.providerLifecycleKind, actor: fact.actor }),
          // Each of these events holds this entry alone: nothing remains that could take its place.
          inputs: inputs.map(({ eventId }) => ({ eventId })),
        },
      },
    ),
  );

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

import type { RouteOfFact } from '../../../schemas/accepted-fact.ts';
import type { ActorEvent } from '../../../schemas/actor-event.ts';
import type { BatchEntry, OpenBatch } from '../../../schemas/batch.ts';
import type { RecentEntry } from '../../../schemas/conversation.ts';
import type { Channel } from '../../../schemas/mirror.ts';
import type { Attachment } from '../../../schemas/normalized-fact.ts';
import { stated } from '../../../shared/provider.ts';
import { contentOf, eventOf, subjectOfEntry } from '../actor-event.ts';
import { contextOf, unrepliedOf } from '../context.ts';
import { entryOf } from '../entry.ts';
import { eventIdOf } from './finalise.ts';

/** How long an agent may take up what nobody asked it, in milliseconds: later, the scene is another. */
const ambientLifetimeMs = 300_000;

/** The one event that the entries of a closed batch become: said in several messages, it is one request. */
export function mergedEvent(options: {
  readonly route: RouteOfFact;
  readonly channel: Channel;
  readonly batch: OpenBatch;
  readonly result: 'addressed' | 'ambient';
  readonly recent: readonly RecentEntry[];
  readonly shownEntryIds: readonly string[];
  readonly at: number;
  /** Where it takes the place of the event that the batch became. */
  readonly id?: string;
}): ActorEvent {
  const { route, channel, batch, result, recent, at } = options;
  const { agentUid } = route;
  const { entries } = batch;
  const contents = entries.map(({ fact }) => contentOf(fact, entryOf(fact, undefined, at)));
  const last = contents.at(-1)?.entry;
  const [firstEntry, lastEntry] = [entries.at(0), entries.at(-1)];
  if (last === undefined || firstEntry === undefined || lastEntry === undefined) {
    throw new RangeError('a batch without entries');
  }
  const answers = entries.findLast(({ replyTo }) => replyTo !== undefined);
  const attachments = mergedAttachments(entries);
  const links = contents.flatMap(({ entry }) => entry?.links ?? []);
  const mentions = contents.flatMap((content) => content.mentions ?? []);
  const context = contextOf(recent, batch, { agentUid, shownEntryIds: options.shownEntryIds });
  const { richContent, ...anchor } = last;
  const depths = contents.flatMap(({ causalDepth }) => causalDepth ?? []);
  const sourceEntryIds = entries.map(({ fact }) => fact.sourceEntryId);
  const messages = (said: readonly RecentEntry[]) =>
    said.map(({ receivedAt: _, providerTime, ...message }) => ({
      ...message,
      ...(providerTime !== undefined && { providerTime: new Date(providerTime).toISOString() }),
    }));

  return eventOf(
    { route, channel, at },
    {
      id: options.id ?? eventIdOf(batch),
      type: result === 'addressed' ? 'im.message.addressed' : 'im.message.may_intervene',
      subject: subjectOfEntry(lastEntry.fact),
    },
    {
      entry: {
        ...anchor,
        // What is shown beyond the text is one message's, and the text is that of all.
        ...(entries.length === 1 && stated({ richContent })),
        text: entries
          .flatMap(({ fact }) => (fact.text === undefined || fact.text.trim() === '' ? [] : [fact.text]))
          .join('\n'),
        ...stated({
          attachments: attachments.length > 0 ? attachments : undefined,
          links: links.length > 0 ? links : undefined,
          replyToSourceEntryId: answers?.fact.replyToSourceEntryId,
          replyTo: answers?.replyTo,
        }),
      },
      // An entry that stands alone is told above already.
      ...(contents.length > 1 && { entries: contents.flatMap(({ entry }) => (entry === undefined ? [] : [entry])) }),
      ...(mentions.length > 0 && { mentions }),
      inboundBatch: { id: batch.id, revision: batch.revision, sourceEntryIds },
      ...(context.length > 0 && { channelContext: { messages: messages(context) } }),
      ...(result === 'ambient' && {
        unrepliedMessages: messages(unrepliedOf(recent, batch, agentUid)),
        ambientBatch: {
          size: entries.length,
          firstSourceEntryId: firstEntry.fact.sourceEntryId,
          lastSourceEntryId: lastEntry.fact.sourceEntryId,
          asOf: at,
          expiresAt: at + ambientLifetimeMs,
        },
      }),
      ...(depths.length > 0 && { causalDepth: Math.max(...depths) }),
      ...(batch.requesterSenderKey !== null && { senderKey: batch.requesterSenderKey }),
    },
  );
}

/** The files of all entries, each once: one that is told twice has the same message and the same reference. */
function mergedAttachments(entries: readonly BatchEntry[]): Attachment[] {
  const found = new Map<string, Attachment>();
  for (const { fact } of entries) {
    for (const each of fact.attachments ?? []) {
      const { providerRef, providerFileId, providerUri, blobRef, storageRef, agentComputerPath, filePath, name } = each;
      const reference =
        providerRef ?? providerFileId ?? providerUri ?? blobRef ?? storageRef ?? agentComputerPath ?? filePath ?? name;
      const key = JSON.stringify([fact.sourceEntryId, reference]);
      if (!found.has(key)) found.set(key, each);
    }
  }
  return [...found.values()];
}

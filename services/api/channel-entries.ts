import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { type Entry, entries } from '../../schemas/mirror.ts';
import type { ProjectionReader } from '../../shared/journey/projection-reader.ts';
import type { Bus, IncomingRecord } from '../../shared/runtime/bus.ts';
import type { Codec } from '../../shared/runtime/codec.ts';
import { lookBack } from './look-back.ts';

/** Which entries of a channel are wanted. */
export interface EntryPage {
  readonly signalChannelId: string;
  readonly providerThreadId?: string | undefined;
  /** The id of its author at the provider, or of the person behind it. */
  readonly author?: string | undefined;
  readonly withAttachments: boolean;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of entries, those first that a fact touched last; `next` is absent on the last one. */
export interface FoundEntries {
  readonly entries: readonly Entry[];
  readonly next: string | undefined;
}

const maxRows = 500;

/**
 * Finds entries of a channel by the log: what passed a filter lies there in order, all of a channel in one partition, so the
 * mirror needs no index of its own. A page looks through `look` records at most, and may be empty before the last one. What
 * is not wanted takes no place on it.
 */
export async function entriesOfChannel(
  world: {
    readonly bus: Pick<Bus, 'offsets' | 'read'>;
    readonly codec: Codec;
    readonly mirror: Pick<ProjectionReader, 'read'>;
    readonly look: number;
  },
  page: EntryPage,
): Promise<FoundEntries> {
  const { signalChannelId, limit, cursor } = page;
  const found: Entry[] = [];
  const seen = new Set<string>();
  const look = { topic: acceptedFacts.name, key: signalChannelId, cursor, look: world.look };
  const { next } = await lookBack(world.bus, look, async ({ record }) => {
    const sourceEntryId = await entryIdOf(record, signalChannelId, world.codec);
    if (sourceEntryId === undefined || seen.has(sourceEntryId)) return true;
    // Only here: the same fact, passed to another binding, is not what the next page should begin with.
    if (found.length === limit || seen.size === maxRows) return false;
    seen.add(sourceEntryId);
    const entry = await world.mirror.read(entries.at({ signalChannelId, sourceEntryId }));
    if (entry !== undefined && isWanted(entry, page)) found.push(entry);
    return true;
  });
  return { entries: found, next };
}

const isWanted = (entry: Entry, { providerThreadId, author, withAttachments }: EntryPage): boolean =>
  (providerThreadId === undefined || entry.providerThreadId === providerThreadId) &&
  (author === undefined || entry.author.id === author || entry.author.principalUid === author) &&
  (!withAttachments || (entry.attachments ?? []).length > 0);

/** The entry that a record of this channel is about. Others of the partition are told by their key, and not decoded. */
async function entryIdOf(record: IncomingRecord, signalChannelId: string, codec: Codec): Promise<string | undefined> {
  if (record.key?.toString('utf8') !== signalChannelId) return undefined;
  const decoded = await codec.decode(acceptedFacts, record.value);
  return decoded.type === 'value' ? acceptedFacts.about?.(decoded.value).sourceEntryId : undefined;
}

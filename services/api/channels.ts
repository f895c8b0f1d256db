import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { type Channel, channels } from '../../schemas/mirror.ts';
import type { ProjectionReader } from '../../shared/journey/projection-reader.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import { lookBack } from './look-back.ts';

/** Which channels are wanted. */
export interface ChannelPage {
  readonly kind?: Channel['kind'] | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of channels, those first in which something happened last; `next` is absent on the last one. */
export interface FoundChannels {
  readonly channels: readonly Channel[];
  readonly next: string | undefined;
}

const maxRows = 500;

/**
 * Finds channels by the log, as their entries are found: the key of each accepted fact is its channel. One that was seen after
 * the instant at which a page begins is not on it, however many older facts it has: an earlier page had it, or something
 * happened since, and a new first page has it.
 */
export async function listChannels(
  world: {
    readonly bus: Pick<Bus, 'offsets' | 'read'>;
    readonly mirror: Pick<ProjectionReader, 'read'>;
    readonly look: number;
  },
  { kind, limit, cursor }: ChannelPage,
): Promise<FoundChannels> {
  const found: Channel[] = [];
  const seen = new Set<string>();
  const look = { topic: acceptedFacts.name, cursor, look: world.look };
  const { next } = await lookBack(world.bus, look, async ({ record, begin }) => {
    const id = record.key?.toString('utf8');
    if (id === undefined || seen.has(id)) return true;
    if (found.length === limit || seen.size === maxRows) return false;
    seen.add(id);
    const channel = await world.mirror.read(channels.at(id));
    if (channel === undefined || wasShown(channel, { begin, at: record.at })) return true;
    if (kind === undefined || channel.kind === kind) found.push(channel);
    return true;
  });
  return { channels: found, next };
}

/** Whether it was seen since the page begins, or in that instant and not by what this page has of it. */
const wasShown = (
  { lastSeenAt }: Channel,
  { begin, at }: { readonly begin: number | undefined; readonly at: number },
): boolean => begin !== undefined && (lastSeenAt > begin || (lastSeenAt === begin && at < begin));

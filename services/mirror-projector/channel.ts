import type { z } from 'zod';
import type { Channel } from '../../schemas/mirror.ts';
import type { NormalizedFact } from '../../schemas/normalized-fact.ts';

type JsonObject = Readonly<Record<string, z.core.util.JSONType>>;

/** What a channel is called and what is known of it. Null, `unknown` and `none` say nothing. */
type Told = Pick<Channel, 'kind' | 'replyMode' | 'name' | 'visibility' | 'metadata'>;

const nothing: Told = { kind: 'unknown', replyMode: 'none', name: null, visibility: null, metadata: {} };

/**
 * The channel after one more fact: what the fact does not say stays as it was, and of what both say the newer counts, by the
 * provider's time where both have one.
 */
export function mergeChannel(stored: Channel | undefined, fact: NormalizedFact, at: number): Channel {
  const told = toldBy(fact);
  const known = stored ?? nothing;
  const { providerTime } = fact;
  const isOlder =
    providerTime !== undefined && stored?.providerTime !== undefined && providerTime < stored.providerTime;
  const newest = isOlder || !namesAny(told) ? stored?.providerTime : (providerTime ?? stored?.providerTime);
  return {
    id: fact.signalChannelId,
    ...(isOlder ? mergeTold(told, known) : mergeTold(known, told)),
    ...(newest !== undefined && { providerTime: newest }),
    firstSeenAt: stored?.firstSeenAt ?? at,
    lastSeenAt: Math.max(stored?.lastSeenAt ?? at, at),
  };
}

function toldBy(fact: NormalizedFact): Told {
  const { kind = 'unknown', replyMode = 'none', name, visibility, metadata = {} } = fact.channel;
  const peer = peerOf(fact);
  return {
    kind,
    replyMode,
    name: name || null,
    visibility: visibility || null,
    metadata: peer === undefined ? metadata : { ...metadata, dmPeerPrincipalUid: peer },
  };
}

/** Whether anything is told that can change. */
const namesAny = ({ name, visibility, metadata }: Told): boolean =>
  name !== null || visibility !== null || Object.keys(metadata).length > 0;

/** The other person of a DM: who writes there, unless it is an agent, whose own words come back as an echo. */
const peerOf = (fact: NormalizedFact): string | undefined =>
  fact.type === 'entry_received' && fact.channel.kind === 'im_dm' && fact.author.agentUid === undefined
    ? fact.author.principalUid
    : undefined;

const mergeTold = (older: Told, newer: Told): Told => ({
  kind: newer.kind === 'unknown' ? older.kind : newer.kind,
  replyMode: newer.replyMode === 'none' ? older.replyMode : newer.replyMode,
  name: newer.name ?? older.name,
  visibility: newer.visibility ?? older.visibility,
  metadata: mergeDeep(older.metadata, newer.metadata),
});

/** Objects are merged key by key, all else is replaced by the newer value. */
function mergeDeep(older: JsonObject, newer: JsonObject): Channel['metadata'] {
  // From entries, since an assignment to a key that a provider chose could reach the prototype.
  return Object.fromEntries([
    ...Object.entries(older),
    ...Object.entries(newer).map(([key, value]): [string, z.core.util.JSONType] => {
      const before = Object.hasOwn(older, key) ? older[key] : undefined;
      return [key, isObject(before) && isObject(value) ? mergeDeep(before, value) : value];
    }),
  ]);
}

const isObject = (value: z.core.util.JSONType | undefined): value is { [key: string]: z.core.util.JSONType } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

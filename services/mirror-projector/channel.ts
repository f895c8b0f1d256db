import type { z } from 'zod';
import type { Channel } from '../../schemas/mirror.ts';
import type { NormalizedFact } from '../../schemas/normalized-fact.ts';

type JsonObject = Readonly<Record<string, z.core.util.JSONType>>;

/** The channel after one more fact: what the fact does not say stays as it was. */
export function mergeChannel(stored: Channel | undefined, fact: NormalizedFact, at: number): Channel {
  const { kind, replyMode, name, visibility, metadata } = fact.channel;
  return {
    id: fact.signalChannelId,
    kind: kind === undefined || kind === 'unknown' ? (stored?.kind ?? 'unknown') : kind,
    replyMode: replyMode === undefined || replyMode === 'none' ? (stored?.replyMode ?? 'none') : replyMode,
    name: name || (stored?.name ?? null),
    visibility: visibility || (stored?.visibility ?? null),
    metadata: mergeDeep(stored?.metadata ?? {}, metadata ?? {}),
    firstSeenAt: stored?.firstSeenAt ?? at,
    lastSeenAt: Math.max(stored?.lastSeenAt ?? at, at),
  };
}

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

import type { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { ActorEvent } from '../../schemas/actor-event.ts';
import { type OpenBatch, OpenBatches } from '../../schemas/batch.ts';
import { Channel, Entry } from '../../schemas/mirror.ts';
import type { ChannelKind } from '../../schemas/normalized-fact.ts';
import { partitionOf } from '../../shared/partition.ts';
import { type Decision, joined } from './checker/contract.ts';
import { redisKey } from './checker/rows.ts';
import type { OutsideClient } from './kafka.ts';
import type { LogWatch } from './log-watch.ts';
import { post, signedHeaders } from './webhooks.ts';

/** What a test tells of one fact: which entry, who said what, and what is unusual. */
export interface Told {
  readonly id: string;
  readonly by?: string;
  readonly text?: string;
  /** The event's own id where the entry has several. */
  readonly event?: string;
  readonly fact?: Readonly<Record<string, unknown>>;
}

/** One channel of a test: what is told in it, and what the product makes of it. */
export interface Conversation {
  readonly connectionId: string;
  /** The channel as its adapter names it. */
  readonly name: string;
  readonly signalChannelId: string;
  /** Tells facts, in order and in one request. */
  readonly tell: (...facts: readonly Told[]) => Promise<void>;
  /** Tells a fact by a signed webhook to an ingress, as an adapter does that has no way to the log. */
  readonly post: (ingressUrl: string, fact: Told) => Promise<void>;
  /** Counts in a fact that was told in another way: a webhook, whose raw fact has this id. */
  readonly count: (rootId: string) => void;
  /**
   * How each fact ended, in the order in which they were told, once all did and the state is saved that goes with it. Where
   * it has several routes, how it ended on each, by their names.
   */
  readonly ends: () => Promise<readonly string[]>;
  /** All decisions on it so far. */
  readonly decisions: () => readonly Decision[];
  /** What was handed over, once it is as many events and the state is saved that goes with them; more is a fault. */
  readonly events: (count: number) => Promise<readonly ActorEvent[]>;
  /** How many more events came than a test waited for. */
  readonly unexpected: () => readonly string[];
  readonly channel: () => Promise<Channel | undefined>;
  readonly entry: (id: string) => Promise<Entry | undefined>;
  /** The batches that wait on the route of the conversation's rule. */
  readonly open: () => Promise<readonly OpenBatch[]>;
  /** Waits until nothing waits any more. */
  readonly closed: () => Promise<void>;
  /** The value of a row of the channel, whatever it is. */
  readonly row: (projection: string, ...key: readonly string[]) => Promise<unknown>;
  /** The parts of a key of the route's own rows. */
  readonly route: readonly [agentUid: string, bindingName: string];
}

const patience = { timeout: 30_000, interval: 25 };
const partitions = 12;

/** The removal of an entry. */
export const removed = (id: string, fact: Told['fact'] = {}): Told => ({
  id,
  event: `${id}-removed`,
  fact: { type: 'entry_lifecycle', lifecycleKind: 'removed', ...fact },
});

/** A reaction to an entry, or its end. */
export const reaction = (id: string, action: 'add' | 'remove', told: { event: string; by?: string }): Told => ({
  id,
  event: told.event,
  fact: { type: 'reaction', reactionKey: 'thumbsup', actorKey: told.by ?? 'mei', action },
});

/** Begins a conversation in a channel that nobody else uses. */
export function createConversation(options: {
  readonly world: { readonly client: OutsideClient; readonly watch: LogWatch; readonly redis: Redis };
  readonly connectionId: string;
  /** The channel as its adapter names it. */
  readonly name: string;
  readonly signalChannelId: string;
  readonly kind: ChannelKind;
  readonly rule: { readonly name: string; readonly agentUid: string };
  /** On how many routes each of its facts ends. */
  readonly routes: number;
}): Conversation {
  const { connectionId, name, signalChannelId, rule, routes } = options;
  const { client, watch, redis } = options.world;
  const route = [rule.agentUid, rule.name] as const;
  const partition = partitionOf(signalChannelId, partitions);
  const told: { readonly id: string; readonly is: (decision: Decision) => boolean }[] = [];
  let handedOver = 0;

  /** A fact as an adapter sends it. */
  const factOf = ({ id, by = 'mei', text, event = id, fact }: Told) => ({
    type: 'entry_received',
    sourceEventId: `${name}:${event}`,
    signalChannelId: name,
    sourceEntryId: id,
    channel: { kind: options.kind, replyMode: 'entry' },
    author: { id: by, kind: 'user' },
    text,
    ...fact,
  });

  async function tell(...facts: readonly Told[]): Promise<void> {
    const records = facts.map((each) => {
      const fact = factOf(each);
      told.push({ id: each.id, is: ({ about }) => about.providerEventId === fact.sourceEventId });
      return {
        key: signalChannelId,
        fact: {
          ...{ provider: 'typed-facts', connectionId, kind: 'direct', signalChannelId },
          ...{ eventId: fact.sourceEventId, event: fact.type, receivedAt: Date.now() },
          ...{ body: JSON.stringify(fact), bodyEncoding: 'utf-8' },
        },
      };
    });
    await client.publish('raw-provider-facts', records);
  }

  const decisions = (): readonly Decision[] =>
    watch
      .of('decisions')
      // The contract of the topic.
      .map(({ value }) => value as Decision)
      .filter(({ about }) => about.signalChannelId === signalChannelId);
  const endsNow = () => {
    const ends = decisions().filter(({ status }) => status !== 'handed_over');
    return told.map(({ is, id }) => ({ id, ends: ends.filter(is) }));
  };
  const eventsNow = () => watch.of('actor-events').filter(({ value }) => isOf(value, signalChannelId));

  /** Waits until the state is saved that goes with what came of some records: it is written after them. */
  async function saved(origins: readonly (string | undefined)[]): Promise<void> {
    const offsets = origins.flatMap((from) => {
      const [, at, offset] = /^accepted-facts\/(\d+)\/(\d+)/.exec(from ?? '') ?? [];
      return Number(at) === partition ? [Number(offset)] : [];
    });
    const position = redisKey(1, `mirror-projector/${partition}/position`);
    await vi.waitUntil(
      async () => Number((await redis.hget(position, 'fence')) ?? -1) >= Math.max(...offsets, -1),
      patience,
    );
  }

  async function row(projection: string, ...key: readonly string[]): Promise<unknown> {
    const text = await redis.get(redisKey(1, `mirror-projector/${partition}/${projection}:${joined(...key)}`));
    // The one form in which rows are kept.
    return text === null ? undefined : (JSON.parse(text) as { readonly v: unknown }).v;
  }

  const open = async (): Promise<readonly OpenBatch[]> => {
    const value = await row('open-batches', ...route, signalChannelId);
    return value === undefined ? [] : OpenBatches.parse(value).batches;
  };

  return {
    connectionId,
    name,
    signalChannelId,
    route,
    tell,
    async post(ingressUrl, message) {
      const fact = factOf(message);
      const [url, body] = [`${ingressUrl}/webhooks/v1/typed-facts/${connectionId}/facts`, JSON.stringify(fact)];
      await post(url, signedHeaders(fact.sourceEventId, body), body);
      told.push({ id: message.id, is: ({ about }) => about.providerEventId === fact.sourceEventId });
    },
    count: (rootId) => void told.push({ id: rootId, is: (decision) => decision.rootId === rootId }),
    decisions,
    row,
    open,
    async ends() {
      await vi.waitFor(() => {
        for (const { id, ends } of endsNow()) expect(ends, id).toHaveLength(routes);
      }, patience);
      const all = endsNow();
      await saved(all.flatMap(({ ends }) => ends.map(({ from }) => from)));
      return all.flatMap(({ ends }) =>
        routes === 1 ? ends.map(endOf) : ends.map((end) => `${end.about.bindingName} ${endOf(end)}`).toSorted(),
      );
    },
    async events(wanted) {
      handedOver = wanted;
      if (wanted > 0) await vi.waitUntil(() => eventsNow().length >= wanted, patience);
      else await watch.caughtUp();
      const records = eventsNow();
      await saved(records.map(({ from }) => from));
      expect(records.map(({ value }) => typeOf(value))).toHaveLength(wanted);
      return records.map(({ value }) => ActorEvent.parse(value));
    },
    unexpected() {
      const more = eventsNow().slice(handedOver);
      return more.map(({ value }) => `${signalChannelId}: ${typeOf(value)}`);
    },
    async channel() {
      const value = await row('channels', signalChannelId);
      return value === undefined ? undefined : Channel.parse(value);
    },
    async entry(id) {
      const value = await row('entries', signalChannelId, id);
      return value === undefined ? undefined : Entry.parse(value);
    },
    async closed() {
      await vi.waitUntil(async () => (await open()).length === 0, patience);
    },
  };
}

const endOf = ({ status, reason = '' }: Decision): string => (status === 'dead_letter' ? reason : status);

// The contract of the topic.
const typeOf = (value: unknown): string => (value as ActorEvent).type;

const isOf = (value: unknown, signalChannelId: string): boolean =>
  // A record without a value is not of it, and the others fit its contract.
  (value as ActorEvent | undefined)?.data.channel.id === signalChannelId;

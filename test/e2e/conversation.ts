import type { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { ActorEvent } from '../../schemas/actor-event.ts';
import { type OpenBatch, OpenBatches } from '../../schemas/batch.ts';
import { Channel, Entry } from '../../schemas/mirror.ts';
import { partitionOf } from '../../shared/partition.ts';
import { type Decision, joined } from './checker/contract.ts';
import { redisKey } from './checker/rows.ts';
import type { OutsideClient } from './kafka.ts';
import type { LogWatch } from './log-watch.ts';

/** What a test tells of one fact: which entry, who said what, and what is unusual. */
export interface Told {
  readonly id: string;
  readonly by?: string;
  readonly text?: string;
  readonly kind?: 'im_group' | 'im_dm' | 'webhook_endpoint';
  /** The event's own id where the entry has several. */
  readonly event?: string;
  /** The rule whose connection tells it, where that is not the conversation's. */
  readonly via?: string;
  readonly fact?: Readonly<Record<string, unknown>>;
}

/** One channel of a test: what is told in it, and what the product makes of it. */
export interface Conversation {
  readonly signalChannelId: string;
  /** Tells facts, in order and in one request. */
  readonly tell: (...facts: readonly Told[]) => Promise<void>;
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
  readonly signalChannelId: string;
  readonly kind: Told['kind'];
  readonly rule: { readonly name: string; readonly agentUid: string };
  readonly routesOf: (rule: string) => number;
  readonly connectionId: (rule: string) => string;
}): Conversation {
  const { signalChannelId, rule, routesOf, connectionId } = options;
  const { client, watch, redis } = options.world;
  const route = [rule.agentUid, rule.name] as const;
  const partition = partitionOf(signalChannelId, partitions);
  const told: { readonly name: string; readonly routes: number; readonly is: (decision: Decision) => boolean }[] = [];
  let handedOver = 0;

  const factOf = ({ id, by = 'mei', text, kind = options.kind, event = id, via = rule.name, fact }: Told) => ({
    connectionId: connectionId(via),
    provider: 'chat',
    providerEventId: `${signalChannelId}:${event}`,
    sourceEventId: `${signalChannelId}:${event}`,
    signalChannelId,
    sourceEntryId: id,
    channel: { kind, replyMode: 'entry' },
    receivedAt: Date.now(),
    type: 'entry_received',
    ...((fact?.type ?? 'entry_received') === 'entry_received' && { author: { id: by, kind: 'user' } }),
    ...(text !== undefined && { text }),
    ...fact,
  });

  async function tell(...facts: readonly Told[]): Promise<void> {
    const records = facts.map((each) => factOf(each));
    for (const [index, { sourceEventId }] of records.entries()) {
      const routes = routesOf(facts[index]?.via ?? rule.name);
      told.push({ name: sourceEventId, routes, is: ({ about }) => about.sourceEventId === sourceEventId });
    }
    await client.publish(
      'normalized-facts',
      records.map((fact) => ({ key: signalChannelId, fact })),
    );
  }

  const decisions = (): readonly Decision[] =>
    watch
      .of('decisions')
      // The contract of the topic.
      .map(({ value }) => value as Decision)
      .filter(({ about }) => about.signalChannelId === signalChannelId);
  const endsNow = () => {
    const ends = decisions().filter(({ status }) => status !== 'handed_over');
    return told.map(({ is, ...fact }) => ({ ...fact, ends: ends.filter(is) }));
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
    signalChannelId,
    route,
    tell,
    count(rootId) {
      told.push({ name: rootId, routes: routesOf(rule.name), is: (decision) => decision.rootId === rootId });
    },
    decisions,
    row,
    open,
    async ends() {
      await vi.waitFor(() => {
        for (const { name, routes, ends } of endsNow()) expect(ends, name).toHaveLength(routes);
      }, patience);
      const all = endsNow();
      await saved(all.flatMap(({ ends }) => ends.map(({ from }) => from)));
      return all.flatMap(({ routes, ends }) =>
        routes === 1 ? ends.map(endOf) : ends.map((end) => `${end.about.bindingName} ${endOf(end)}`).toSorted(),
      );
    },
    async events(count) {
      handedOver = count;
      if (count > 0) await vi.waitUntil(() => eventsNow().length >= count, patience);
      else await watch.caughtUp();
      const events = eventsNow();
      await saved(events.map(({ from }) => from));
      expect(events.map(({ value }) => ActorEvent.parse(value).type)).toHaveLength(count);
      return events.map(({ value }) => ActorEvent.parse(value));
    },
    unexpected() {
      const more = eventsNow().slice(handedOver);
      return more.map(({ value }) => `${signalChannelId}: ${ActorEvent.parse(value).type}`);
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

const isOf = (value: unknown, signalChannelId: string): boolean =>
  // The contract of the topic.
  (value as ActorEvent | undefined)?.data.channel.id === signalChannelId;

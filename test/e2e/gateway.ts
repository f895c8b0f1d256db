import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { Binding, bindingKey } from '../../schemas/binding.ts';
import type { Addresses } from '../harness/parts.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { type Conversation, createConversation, type Told } from './conversation.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { type LogWatch, watchLog } from './log-watch.ts';
import { secretKeys } from './routes.ts';

/** A rule of a test: what its connection says reaches its agent. Its connection has its name, unless it shares another's. */
export interface Rule {
  readonly agentUid: string;
  readonly connection?: string;
  readonly policy?: Binding['unaddressedGroupMessagePolicy'];
  readonly windows?: Binding['windows'];
  readonly cel?: string;
  readonly enabled?: boolean;
  readonly unavailableReason?: string;
  readonly adapter?: string;
}

/** The gateway as a test sees it from outside: what it may say to it, and what comes of it. */
export interface Gateway {
  readonly settings: Readonly<Record<string, string>>;
  readonly client: OutsideClient;
  readonly watch: LogWatch;
  readonly connectionId: (rule: string) => string;
  /** A conversation in a channel of its own, unless it is given one, told by the connection of a rule. */
  readonly talk: (rule: string, options?: { readonly kind?: Told['kind']; readonly channel?: string }) => Conversation;
  /** The conversations in which more was handed over than their tests waited for, once everything has come to rest. */
  readonly unexpected: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

const patience = { timeout: 60_000, interval: 100 };
const watched = ['actor-events', 'decisions', 'dead-letters'];

/** Stores rules in an installation that nothing runs in yet, and looks at what comes from then on. */
export async function openGateway(at: Addresses, run: string, rules: Readonly<Record<string, Rule>>): Promise<Gateway> {
  // Timers are looked at more often than by default: a test waits for many of them.
  const settings = { ...settingsOf(at), ...secretKeys, RUNTIME_TICK_MS: '20' };
  await signalboxJson(settings, 'migrate');
  const client = await connectOutside(at);
  const connectionId = (rule: string): string => `${run}-${rules[rule]?.connection ?? rule}`;
  const bindings = Object.entries(rules).map(([name, rule]) =>
    Binding.parse({
      agentUid: rule.agentUid,
      name,
      adapter: rule.adapter ?? 'chat',
      connectionId: connectionId(name),
      filters: rule.cel === undefined ? {} : { cel: rule.cel },
      unaddressedGroupMessagePolicy: rule.policy ?? 'record_only',
      windows: rule.windows,
      enabled: rule.enabled ?? true,
      unavailableReason: rule.unavailableReason ?? null,
      updatedAt: Date.now(),
    }),
  );
  // As they are stored, since whoever stores them can say neither a provider of chats nor windows yet.
  await client.publish(
    'bindings',
    bindings.map((binding) => ({ key: bindingKey(binding), fact: binding })),
  );
  const watch = await watchLog(at.kafkaBrokers.split(','), watched);
  const redis = new Redis(at.redisUrl);
  const conversations: Conversation[] = [];

  return {
    settings,
    client,
    watch,
    connectionId,
    talk(rule, { kind = 'im_group', channel = `chat:${run}-${rule}-${conversations.length}` } = {}) {
      const conversation = createConversation({
        world: { client, watch, redis },
        signalChannelId: channel,
        kind,
        // Where there is no route, that is told once.
        routesOf: (name) => Math.max(1, bindings.filter((each) => each.connectionId === connectionId(name)).length),
        connectionId,
        rule: { name: rule, agentUid: rules[rule]?.agentUid ?? '' },
      });
      conversations.push(conversation);
      return conversation;
    },
    async unexpected() {
      await vi.waitUntil(() => isSettled(client), patience);
      await watch.caughtUp();
      return conversations.flatMap((conversation) => conversation.unexpected());
    },
    async close() {
      redis.disconnect();
      await watch.close();
      await client.close();
    },
  };
}

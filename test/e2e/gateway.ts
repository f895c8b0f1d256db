import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { Binding, bindingKey } from '../../schemas/binding.ts';
import type { Connection } from '../../schemas/connection.ts';
import type { ChannelKind } from '../../schemas/normalized-fact.ts';
import { sealConnection } from '../../shared/connection.ts';
import { providers } from '../../shared/providers/index.ts';
import { KeyRing } from '../../shared/sealing.ts';
import type { Addresses } from '../harness/parts.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { type Conversation, createConversation } from './conversation.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { type LogWatch, watchLog } from './log-watch.ts';
import { secretKeys } from './routes.ts';
import { webhookSecret } from './webhooks.ts';

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
  /** A conversation in a channel of its own, or in one that webhooks name, in which the connection of a rule tells facts. */
  readonly talk: (
    rule: string,
    options?: { readonly kind?: ChannelKind; readonly signalChannelId?: string },
  ) => Conversation;
  /** The conversations in which more was handed over than their tests waited for, once everything has come to rest. */
  readonly unexpected: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

const patience = { timeout: 60_000, interval: 100 };
const watched = ['actor-events', 'decisions', 'dead-letters'];

/** Stores rules in an installation that nothing runs in yet, and looks at what comes from then on. */
export async function openGateway(
  at: Addresses,
  run: string,
  rules: Readonly<Record<string, Rule>>,
  /** Connections to GitHub that no rule is of. */
  unbound: readonly string[] = [],
): Promise<Gateway> {
  // Timers are looked at more often than by default: a test waits for many of them.
  const settings = { ...settingsOf(at), ...secretKeys, RUNTIME_TICK_MS: '20' };
  await signalboxJson(settings, 'migrate');
  const client = await connectOutside(at);
  const connectionId = (rule: string): string => `${run}-${rules[rule]?.connection ?? rule}`;
  const bindings = Object.entries(rules).map(([name, rule]) =>
    Binding.parse({
      agentUid: rule.agentUid,
      name,
      adapter: rule.adapter ?? 'typed-facts',
      connectionId: connectionId(name),
      filters: rule.cel === undefined ? {} : { cel: rule.cel },
      unaddressedGroupMessagePolicy: rule.policy ?? 'record_only',
      windows: rule.windows,
      enabled: rule.enabled ?? true,
      unavailableReason: rule.unavailableReason ?? null,
      updatedAt: Date.now(),
    }),
  );
  const accounts = new Map([
    ...bindings.map((binding) => [binding.connectionId, binding.adapter] as const),
    ...unbound.map((name) => [connectionId(name), 'github'] as const),
  ]);
  const connections = [...accounts].map(([id, adapter]) => connectionOf(id, adapter));
  // As the command line and the API store them, and all at once.
  await client.publish(
    'connections',
    connections.map((connection) => ({ key: connection.id, fact: connection })),
  );
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
    talk(rule, options = {}) {
      const name = `${run}-${conversations.length}`;
      const own = connectionId(rule);
      const conversation = createConversation({
        world: { client, watch, redis },
        connectionId: own,
        name,
        signalChannelId: options.signalChannelId ?? `typed-facts:${own}:${name}`,
        kind: options.kind ?? 'im_group',
        rule: { name: rule, agentUid: rules[rule]?.agentUid ?? '' },
        // Where there is none, that is told once.
        routes: Math.max(1, bindings.filter((each) => each.connectionId === own).length),
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

const keys = KeyRing.parse(secretKeys.SIGNALBOX_SECRET_KEYS);

function connectionOf(id: string, adapter: string): Connection {
  const provider = providers.get(adapter);
  if (provider === undefined) throw new Error(`no provider ${adapter}`);
  return sealConnection({ id, config: { webhookSecret } }, { provider, keys, now: Date.now() });
}

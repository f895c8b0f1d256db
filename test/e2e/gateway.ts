import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { Binding, bindingKey } from '../../schemas/binding.ts';
import type { ChannelKind } from '../../schemas/normalized-fact.ts';
import type { Addresses } from '../harness/parts.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { type Ask, askerWith } from './api-client.ts';
import { type Conversation, createConversation } from './conversation.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { type LogWatch, watchLog } from './log-watch.ts';
import { runServices, stop, untilReady } from './product.ts';
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
  /** It is made, with its connection, and deleted again. */
  readonly deleted?: boolean;
  readonly unavailableReason?: string;
  readonly adapter?: string;
}

/** The gateway as a test sees it from outside: what it may say to it, and what comes of it. */
export interface Gateway {
  readonly settings: Readonly<Record<string, string>>;
  readonly ask: Ask;
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

/** Puts rules into an installation that nothing else runs in yet, and looks at what comes from then on. */
export async function openGateway(at: Addresses, run: string, rules: Readonly<Record<string, Rule>>): Promise<Gateway> {
  // Timers are looked at more often than by default: a test waits for many of them.
  const settings = { ...settingsOf(at), ...secretKeys, RUNTIME_TICK_MS: '20' };
  await signalboxJson(settings, 'migrate');
  const client = await connectOutside(at);
  const connectionId = (rule: string): string => `${run}-${rules[rule]?.connection ?? rule}`;
  const ask = await askerWith(settings, run, [
    'bindings:read',
    'bindings:write',
    'bindings:delete',
    'connections:write',
  ]);
  const bindings = await putRules(settings, ask, { rules, connectionId });
  const revoked = bindings.flatMap((binding) => {
    const { unavailableReason } = rules[binding.name] ?? {};
    return unavailableReason === undefined ? [] : [{ ...binding, unavailableReason }];
  });
  // No request sets it.
  await client.publish(
    'bindings',
    revoked.map((binding) => ({ key: bindingKey(binding), fact: binding })),
  );
  const watch = await watchLog(at.kafkaBrokers.split(','), watched);
  const redis = new Redis(at.redisUrl);
  const conversations: Conversation[] = [];

  return {
    settings,
    ask,
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

const modes = { ignore: 'addressed_only', record_only: 'observe_all', may_intervene: 'may_intervene' } as const;

/** Makes rules and their connections over HTTP, as people do; answers those that are there afterwards. */
async function putRules(
  settings: Readonly<Record<string, string>>,
  ask: Ask,
  { rules, connectionId }: { readonly rules: Readonly<Record<string, Rule>> } & Pick<Gateway, 'connectionId'>,
): Promise<readonly Binding[]> {
  const api = await runServices(['api'], settings);
  await untilReady(api);
  const bindings: Binding[] = [];
  for (const [name, rule] of Object.entries(rules)) {
    const { agentUid, adapter = 'typed-facts', policy = 'record_only', windows, cel, enabled } = rule;
    const path = `/agents/${agentUid}/signal-bindings`;
    const put = await ask(api.apiUrl, `PUT ${path}/${adapter}/${name}`, {
      ...{ connectionId: connectionId(name), config: { webhookSecret } },
      ...{ filters: { cel }, groupMessageMode: modes[policy], windows, enabled },
    });
    expect([name, put]).toMatchObject([name, { status: 200 }]);
    if (rule.deleted !== true) bindings.push(Binding.parse(put.body.signalBinding));
    else expect(await ask(api.apiUrl, `DELETE ${path}/${name}`)).toMatchObject({ status: 200 });
  }
  expect(await stop(api)).toMatchObject({ code: 0 });
  return bindings;
}

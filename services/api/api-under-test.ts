import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { Binding, bindings } from '../../schemas/binding.ts';
import { connections } from '../../schemas/connection.ts';
import { connectionStates } from '../../schemas/connection-state.ts';
import type { Place, Topic } from '../../schemas/define.ts';
import { topics } from '../../schemas/index.ts';
import { Scope, Token, tokens } from '../../schemas/token.ts';
import { readConfig } from '../../shared/config.ts';
import { sealConnection } from '../../shared/connection.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { partitionOf } from '../../shared/partition.ts';
import { defineProvider } from '../../shared/provider.ts';
import { providers } from '../../shared/providers/index.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log.ts';
import { createEmbeddedInfrastructure } from '../../shared/runtime/memory/embedded.ts';
import { createPublisher, type Publisher } from '../../shared/runtime/publisher.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { rowOf } from '../../shared/runtime/store.ts';
import { openTable } from '../../shared/runtime/tables.ts';
import { KeyRing } from '../../shared/sealing.ts';
import { secret } from '../../shared/secret.ts';
import type { AnyStage } from '../../shared/stage/index.ts';
import { testCodec } from '../../shared/testing/test-codec.ts';
import { createToken } from '../../shared/token.ts';
import { buildApi } from './api.ts';
import { type ApiSettings, config } from './config.ts';
import { openApiWorld } from './open-api-world.ts';
import type { ApiWorld } from './world.ts';

const partitions = 3;
const limits = { maxRequestBytes: () => 900_000, retryMs: 10, inFlight: 1 } as const;
const keys = KeyRing.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);

/** A chat whose groups can be observed, and not left alone. */
export const chat = defineProvider({
  name: 'chat',
  title: 'Chat',
  config: z.strictObject({ region: z.string().optional(), token: secret() }),
  groupMessageModes: ['observe_all', 'may_intervene'],
  kinds: ['events'],
  keepHeaders: [],
  verify: () => ({ ok: false, reason: 'a test provider' }),
  identify: () => undefined,
  normalize: () => ({ type: 'ignored', reason: 'a test provider' }),
  origin: () => ({}),
});

/** An answer: its status, its body and its headers. */
export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The API over an infrastructure in memory. */
export interface ApiUnderTest {
  readonly app: FastifyInstance;
  /** Asks with a token for everything, unless told otherwise; null sends none. */
  readonly ask: (
    http: string,
    more?: {
      readonly body?: unknown;
      readonly token?: string | null;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ) => Promise<Answered>;
  /** Stores a token and answers its text. */
  readonly token: (
    wanted?: Partial<Pick<z.input<typeof Token>, 'scopes' | 'agents' | 'expiresAt' | 'revokedAt'>>,
  ) => Promise<string>;
  readonly publish: <V>(topic: Topic<V>, value: V) => Promise<void>;
  readonly bind: (binding: Partial<z.input<typeof Binding>>) => Promise<void>;
  readonly connect: (id: string, provider: string, config: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly putRow: <V>(place: Place<V>, value: V) => Promise<void>;
  readonly world: ApiWorld;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly counted: readonly { readonly operation: string; readonly outcome: ErrorCode | 'ok' }[];
  readonly stop: () => Promise<void>;
}

/** Makes an API over an empty log. `hinder` replaces parts of its world; `publishing` how it writes. */
export async function apiUnderTest(
  given: {
    readonly settings?: Partial<ApiSettings>;
    readonly hinder?: Partial<ApiWorld>;
    readonly publishing?: (publisher: Publisher) => Publisher;
    readonly pipeline?: readonly AnyStage[];
  } = {},
): Promise<ApiUnderTest> {
  const infrastructure = createEmbeddedInfrastructure();
  const [bus, store, clock] = [infrastructure.bus(), infrastructure.store(), systemClock];
  await bus.createTopics(topics.map(({ name }) => ({ name, partitions, replicas: 1, config: {} })));
  const codec = await testCodec(topics);
  const sender = createSender({ bus, clock, limits });
  const publisher = createPublisher({ bus, codec, sender });
  const lines: Readonly<Record<string, unknown>>[] = [];
  const counted: { readonly operation: string; readonly outcome: ErrorCode | 'ok' }[] = [];
  const at = (level: string) => (fields: object, phrase: string) => void lines.push({ level, ...fields, phrase });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const open = async <V>(topic: Topic<V>) => {
    const opened = await openTable({
      topic,
      bus,
      codec,
      clock,
      retryMs: 10,
      onProblem: (problem) => at('error')(problem, 'table'),
    });
    await opened.ready;
    return opened;
  };
  const tables = {
    bindings: await open(bindings),
    connections: await open(connections),
    states: await open(connectionStates),
    tokens: await open(tokens),
  };
  const [defaults] = readConfig([config] as const, {});
  const settings = { ...defaults, port: 0, ...given.settings };
  const adapters = new Map([...providers, [chat.name, chat] as const]);
  const world: ApiWorld = {
    ...openApiWorld({
      bus,
      store,
      codec,
      publisher: given.publishing?.(publisher) ?? publisher,
      adapters,
      bindings: tables.bindings.table,
      connections: tables.connections.table,
      states: tables.states.table,
      keys,
      clock,
      log,
      settings,
      filterMaxWork: 1_000_000_000,
      pipeline: given.pipeline ?? [],
    }),
    ...given.hinder,
  };
  const app = buildApi({
    ...world,
    tokens: tables.tokens.table,
    settings,
    log,
    onAnswer: (answer) => counted.push(answer),
  });

  const shown = async (isShown: () => boolean): Promise<void> => {
    while (!isShown()) await clock.sleep(1);
  };
  const token: ApiUnderTest['token'] = async (wanted = {}) => {
    const made = createToken({
      name: 'test',
      scopes: Scope.options,
      agents: null,
      expiresAt: null,
      now: clock.now(),
    });
    const stored = Token.parse({ ...made.token, ...wanted });
    await publisher.publish(tokens, stored);
    await shown(() => tables.tokens.table.get(stored.id) !== undefined);
    return made.text.reveal();
  };
  const everything = await token();

  return {
    app,
    world,
    lines,
    counted,
    token,
    async ask(http, { body, token: sent = everything, headers = {} } = {}) {
      const [method = 'GET', url = '/'] = http.split(' ');
      const answer = await app.inject({
        // Every test names one of the methods of operations, or one that no operation has.
        method: method as 'GET',
        url,
        headers: { ...(sent !== null && { authorization: `Bearer ${sent}` }), ...headers },
        ...(body !== undefined && { payload: body as object }),
      });
      return {
        status: answer.statusCode,
        body: answer.body === '' ? {} : answer.json<Record<string, unknown>>(),
        headers: answer.headers,
      };
    },
    async publish(topic, value) {
      await publisher.publish(topic, value);
    },
    async bind(binding) {
      const row = Binding.parse({ ...bindings.example, ...binding });
      await publisher.publish(bindings, row);
      await shown(() => tables.bindings.table.get(bindings.key(row))?.updatedAt === row.updatedAt);
    },
    async connect(id, provider, settingsOf) {
      const adapter = adapters.get(provider);
      if (adapter === undefined) throw new RangeError(`no provider ${provider}`);
      await publisher.publish(
        connections,
        sealConnection({ id, config: settingsOf }, { provider: adapter, keys, now: 1 }),
      );
      await shown(() => tables.connections.table.get(id) !== undefined);
    },
    async putRow(place, value) {
      const slot = { stage: place.projection.stage, partition: partitionOf(place.owner, partitions) };
      const generation = (await store.generations(slot)).inUse;
      const { fence } = await store.open({ ...slot, generation });
      const rows = [{ row: rowOf(place.projection.name, place.key), json: JSON.stringify({ v: value }) }];
      const changes = { fence: fence + 1n, at: 0, watermarks: new Map(), rows, timers: [] };
      await store.save({ ...slot, generation }, fence, changes);
    },
    async stop() {
      await app.close();
      await Promise.all(Object.values(tables).map((table) => table.close()));
      sender.stop();
      await bus.close();
    },
  };
}

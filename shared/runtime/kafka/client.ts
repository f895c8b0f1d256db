// First, since parts of the client keep what they load for good.
import './changed-client.ts';

import { readFile } from 'node:fs/promises';
import {
  type Admin,
  type Broker,
  type Cluster,
  type ConfigResourceTypes,
  type Consumer,
  type ConsumerConfig,
  Kafka,
  type KafkaConfig,
  logLevel,
  PartitionAssigners,
  type Producer,
} from 'kafkajs';
import type { KafkaClientSettings } from '../connection-settings.ts';
import type { Log } from '../log.ts';
import { internals } from './changed-client.ts';

export type { Admin, Cluster, Consumer, Producer };

/** Bounds of the Kafka client that are no settings: measured or fixed by the protocol. */
export interface KafkaLimits {
  /** Silence after which the group gives a member's partitions to others. */
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly heartbeatMs: number;
  /** How long running work may hold up a rebalance. */
  readonly handOverMs: number;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long a broker may hold a fetch that finds nothing. New records end it at once. */
  readonly fetchWaitMs: number;
  readonly fetchPartitionBytes: number;
  readonly fetchBytes: number;
  readonly metadataMaxAgeMs: number;
  /** Wait before a lost connection or membership is made anew. */
  readonly retryMs: number;
}

/** The bounds in use where nothing else is said. */
export const kafkaLimits: KafkaLimits = {
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 15_000,
  heartbeatMs: 1_000,
  handOverMs: 3_000,
  connectTimeoutMs: 5_000,
  requestTimeoutMs: 15_000,
  fetchWaitMs: 500,
  fetchPartitionBytes: 512 * 1024,
  fetchBytes: 4 * 1024 * 1024,
  metadataMaxAgeMs: 30_000,
  retryMs: 500,
};

/** What the client calls a topic among all that can be configured. */
// The value is not among the names that Node finds in this CommonJS module.
export const topicResource: ConfigResourceTypes = 2;

/** A record as the client decodes it from a fetch. */
export interface FetchedMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | null | (Buffer | null)[] | undefined>>;
  readonly isControlRecord: boolean;
  readonly batchContext?: { readonly firstOffset: string; readonly lastOffsetDelta: number };
}

/** What a fetch says of aborted transactions. */
export type AbortedTransactions = readonly { readonly producerId: string; readonly firstOffset: string }[];

/** Leaves out the records of aborted transactions; control records stay. */
export const withoutAborted: (fetched: {
  readonly messages: readonly FetchedMessage[];
  readonly abortedTransactions: AbortedTransactions;
}) => readonly FetchedMessage[] = internals('kafkajs/src/consumer/filterAbortedMessages');

/** A request of the protocol, and the versions in which the client makes it. */
export interface KnownRequest {
  readonly name: string;
  readonly key: number;
  readonly min: number;
  readonly max: number;
}

/** The requests that the client knows, of these names. */
export function knownRequests(names: readonly string[]): readonly KnownRequest[] {
  // `require` is untyped; the test beside the inspection holds the two tables to these shapes.
  const keys = internals('kafkajs/src/protocol/requests/apiKeys') as Readonly<Record<string, number>>;
  const { requests } = internals('kafkajs/src/protocol/requests') as {
    readonly requests: Readonly<Record<string, { readonly versions: readonly string[] }>>;
  };
  return names.map((name) => {
    const [key, versions] = [keys[name], requests[name]?.versions.map(Number) ?? []];
    if (key === undefined || versions.length === 0) throw new TypeError(`the client no longer makes ${name}`);
    return { name, key, min: Math.min(...versions), max: Math.max(...versions) };
  });
}

/** The client's factory, with retries of its own kept short: whoever calls supervises. */
export async function createClient(settings: KafkaClientSettings, limits: KafkaLimits, log: Log): Promise<Kafka> {
  const sasl = saslOf(settings);
  return new Kafka({
    brokers: [...settings.brokers],
    clientId: settings.clientId,
    connectionTimeout: limits.connectTimeoutMs,
    authenticationTimeout: limits.connectTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 2 },
    ...(settings.tls && { ssl: await tlsOf(settings) }),
    ...(sasl !== undefined && { sasl }),
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => writeLog(log, entry.namespace, entry.log),
  });
}

export type { Kafka };

/** A consumer, and the connections under it, which serve for more than the consumer itself offers. */
export function createConsumer(
  kafka: Kafka,
  config: ConsumerConfig,
): { readonly consumer: Consumer; readonly cluster: Cluster } {
  let cluster: Cluster | undefined;
  const consumer = kafka.consumer({
    ...config,
    partitionAssigners: [
      (assigner) => {
        cluster = assigner.cluster;
        return PartitionAssigners.roundRobin(assigner);
      },
    ],
  });
  if (cluster === undefined) throw new TypeError('the client made its assigner later than it used to');
  return { consumer, cluster };
}

/** Tells a coordinator that a member is gone. */
export async function leaveGroup(
  coordinator: Broker,
  place: { readonly groupId: string; readonly memberId: string },
): Promise<void> {
  // The client's types leave this method out.
  await (coordinator as Broker & { leaveGroup: (request: typeof place) => Promise<unknown> }).leaveGroup(place);
}

async function tlsOf(settings: KafkaClientSettings): Promise<NonNullable<KafkaConfig['ssl']>> {
  const read = (path: string | undefined) => (path === undefined ? undefined : readFile(path, 'utf8'));
  const [ca, cert, key] = await Promise.all([
    read(settings.tlsCaFile),
    read(settings.tlsCertFile),
    read(settings.tlsKeyFile),
  ]);
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}

function saslOf({ saslMechanism, saslUsername, saslPassword }: KafkaClientSettings): KafkaConfig['sasl'] {
  if (saslMechanism === undefined || saslUsername === undefined || saslPassword === undefined) return undefined;
  const account = { username: saslUsername, password: saslPassword.reveal() };
  switch (saslMechanism) {
    case 'plain':
      return { mechanism: saslMechanism, ...account };
    case 'scram-sha-256':
      return { mechanism: saslMechanism, ...account };
    case 'scram-sha-512':
      return { mechanism: saslMechanism, ...account };
  }
}

/** What the client calls an error is tried again and again; what is away, and since when, is told by who waits for it. */
function writeLog(log: Log, namespace: string, entry: Readonly<Record<string, unknown>>): void {
  const fields = {
    client: namespace,
    reason: entry.message,
    ...(typeof entry.error === 'string' && { error: entry.error }),
    ...(typeof entry.broker === 'string' && { broker: entry.broker }),
  };
  log.debug(fields, 'kafka client');
}

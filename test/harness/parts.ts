/** What the product needs beside itself. */
export const partNames = ['kafka', 'redis', 'registry'] as const;
export type PartName = (typeof partNames)[number];

/** One part as chaos tests see it: `kill` gives it no chance to say goodbye, `restart` brings it back, same port and data. */
export interface Part {
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** Where clients connect. The address of a part that was not needed is empty. */
export interface Addresses {
  readonly kafkaBrokers: string;
  readonly redisUrl: string;
  readonly schemaRegistryUrl: string;
}

/** Kafka, Redis and a schema registry that answer. Parts that were given are somebody else's, so `parts` lacks them. */
export interface Infrastructure extends Addresses {
  readonly way: 'given' | 'docker' | 'native';
  readonly parts: Readonly<Partial<Record<PartName, Part>>>;
  stop(): Promise<void>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface InfrastructureOptions {
  /** A folder of its own: settings, logs and, natively, everything that is stored. */
  readonly dir: string;
  /** Whether a later start in the same folder finds what this one stored. */
  readonly keepData: boolean;
  /** Ports that must be these; others are chosen, and with `keepData` remembered. */
  readonly ports?: Readonly<Partial<Record<PartName, number>>>;
  /** The parts to start; all of them unless said otherwise. */
  readonly need?: readonly PartName[];
  readonly environment?: Environment;
  /**
   * A second way to the broker, through a proxy of the caller's own: the port that the broker opens for it, and the port of
   * the proxy, which clients that came this way are told. Natively only.
   */
  readonly kafkaProxy?: { readonly port: number; readonly advertisedPort: number };
  report(line: string): void;
}

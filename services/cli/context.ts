import type { ResourceLimits, Worker } from 'node:worker_threads';
import type { Topic } from '../../schemas/define.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Codec } from '../../shared/runtime/codec.ts';
import type { ConnectionSettings, DeploymentSettings, Environment } from '../../shared/runtime/connection-settings.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Publisher } from '../../shared/runtime/publisher.ts';
import type { SchemaRegistry } from '../../shared/runtime/schema-registry.ts';
import type { Store } from '../../shared/runtime/store.ts';
import type { Table } from '../../shared/stage/stage.ts';
import type { Terminal } from './terminal.ts';

/** The parts of the world that a command reaches through ports. */
export interface Ports {
  readonly bus: () => Promise<Bus>;
  readonly store: () => Promise<Store>;
  readonly registry: () => Promise<SchemaRegistry>;
}

/** Starts a thread from its file, what it is told and the memory that it may have. */
export type StartThread = (file: URL, told: unknown, limits?: ResourceLimits) => Worker;

/** What a command works with. What it asks for is opened then, and closed at its end. */
export interface CommandContext extends Ports {
  /** The process's own environment. */
  readonly given: Environment;
  /** The same, filled up from the environment file. */
  readonly environment: () => Environment;
  readonly connections: () => ConnectionSettings;
  readonly deployment: () => DeploymentSettings;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads records of all topics, writes those of the given ones. */
  readonly codec: (writes?: readonly Topic[]) => Promise<Codec>;
  readonly publisher: (writes: readonly Topic[]) => Promise<Publisher>;
  /** A compacted topic as it is now; followed until the command ends. */
  readonly table: <V>(topic: Topic<V>) => Promise<Table<V>>;
  /** Prints a value now, for a command that stays; as the value that `run` answers is printed at its end. */
  readonly present: (value: unknown) => void;
  /** Starts a thread that opens the same world for itself; absent where the world lies in this process. */
  readonly startThread?: StartThread | undefined;
  /** Resolves when the person or the system asks the process to end. */
  readonly untilStopped: () => Promise<void>;
}

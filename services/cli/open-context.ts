import { BusError } from '../../shared/errors.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import {
  type Environment,
  readConnectionSettings,
  readDeploymentSettings,
} from '../../shared/runtime/connection-settings.ts';
import type { Log } from '../../shared/runtime/log.ts';
import { createPublisher } from '../../shared/runtime/publisher.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { openTable } from '../../shared/runtime/tables.ts';
import type { CommandContext, Ports, StartThread } from './context.ts';
import type { Terminal } from './terminal.ts';

/** What a context is opened over: the real world, or a twin of it. */
export interface World {
  readonly given: Environment;
  readonly environment: () => Environment;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  readonly openPorts: (environment: () => Environment, log: Log) => Ports;
  readonly present: (value: unknown) => void;
  readonly startThread?: StartThread | undefined;
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const retryMs = 200;
const maxRequestBytes = 900_000;

/** Keeps the first answer of a function. */
function onceOnly<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A context, and what closes all that was opened through it, the newest first. */
export function openContext(world: World): { readonly context: CommandContext; readonly close: () => Promise<void> } {
  const { clock, log, terminal } = world;
  const closing: (() => Promise<void>)[] = [];
  const environment = onceOnly(world.environment);
  const ports = world.openPorts(environment, log);

  /** Also where the command has failed before it is open: left alone, it would keep the process alive. */
  const closedAtEnd = <T extends { readonly close: () => Promise<void> }>(opening: Promise<T>): Promise<T> => {
    closing.push(() =>
      opening.then(
        (opened) => opened.close(),
        // What did not open needs no closing, and whoever asked for it was told.
        () => undefined,
      ),
    );
    return opening;
  };

  const bus = onceOnly(() => closedAtEnd(ports.bus()));
  const store = onceOnly(() => closedAtEnd(ports.store()));
  const registry = onceOnly(ports.registry);
  const codec: CommandContext['codec'] = async (writes = []) => createCodec({ registry: await registry(), writes });

  const context: CommandContext = {
    given: world.given,
    environment,
    connections: onceOnly(() => readConnectionSettings(environment())),
    deployment: onceOnly(() => readDeploymentSettings(environment())),
    terminal,
    clock,
    log,
    bus,
    store,
    registry,
    codec,
    async publisher(writes) {
      const sender = createSender({
        bus: await bus(),
        clock,
        limits: { maxRequestBytes: () => maxRequestBytes, retryMs, inFlight: 1 },
      });
      closing.push(async () => sender.stop());
      return createPublisher({ bus: await bus(), codec: await codec(writes), sender });
    },
    async table(topic) {
      if ((await (await bus()).offsets(topic.name)) === undefined) {
        throw new BusError('topic-missing', { topic: topic.name });
      }
      const opened = await openTable({
        topic,
        bus: await bus(),
        codec: await codec(),
        clock,
        retryMs,
        onProblem: ({ partition, offset, code }) =>
          terminal.note(`${topic.name}/${partition}/${offset} is unreadable (${code}); the value before it is shown.`),
      });
      closing.push(opened.close);
      await opened.ready;
      return opened.table;
    },
    present: world.present,
    startThread: world.startThread,
    untilStopped() {
      const { promise, resolve } = Promise.withResolvers<void>();
      // Waiting for a signal alone does not keep a process alive.
      const alive = setInterval(() => undefined, 60_000);
      const release = (): void => {
        clearInterval(alive);
        for (const signal of stopSignals) process.off(signal, release);
        resolve();
      };
      for (const signal of stopSignals) process.on(signal, release);
      closing.push(async () => release());
      return promise;
    },
  };

  const close = async (): Promise<void> => {
    for (const each of closing.splice(0).reverse()) await each();
  };
  return { context, close };
}

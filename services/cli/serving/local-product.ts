import { type Decision, decisions } from '../../../schemas/decision.ts';
import { createCodec } from '../../../shared/runtime/codec.ts';
import type { Environment } from '../../../shared/runtime/connection-settings.ts';
import { createLog } from '../../../shared/runtime/log.ts';
import type { CommandContext } from '../context.ts';
import { openContext } from '../open-context.ts';
import { embeddedInfrastructure, migrateLocal, realInfrastructure } from './local-infrastructure.ts';
import type { World } from './open-world.ts';
import { type Serving, serve } from './serve.ts';
import { serviceNames } from './start-services.ts';

/** The product at work on this machine. */
export interface LocalProduct extends Serving {
  /** How its infrastructure is reached. */
  readonly environment: Environment;
  /** A command context over it, whatever the process's own environment says. */
  readonly context: CommandContext;
  readonly stop: () => void;
}

/** Starts infrastructure and all services, and stops both: on a signal, when asked to, and when something fails. */
export async function runLocalProduct(
  outer: CommandContext,
  options: {
    readonly embedded: boolean;
    readonly given: Environment;
    /** The folder below `.signalbox` in which real infrastructure lives. */
    readonly name: string;
    readonly keepData: boolean;
    readonly logLevel: string;
    readonly onStarted: (product: LocalProduct) => Promise<void>;
  },
): Promise<void> {
  const { terminal, clock } = outer;
  const { embedded, given, name, keepData } = options;
  const log = createLog(given.SIGNALBOX_LOG_LEVEL ?? options.logLevel);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  if (embedded) terminal.note('Everything is in memory: nothing survives this process.');
  const infrastructure = embedded
    ? embeddedInfrastructure(given)
    : await realInfrastructure({ given, folder: process.cwd(), name, keepData, report: terminal.note });
  const { environment, openPorts } = infrastructure;
  try {
    if (stop.signal.aborted) return;
    const migrated = await migrateLocal(infrastructure, { clock, log, stop: stop.signal });
    const created = migrated.filter((topic) => topic.log === 'created').length;
    if (created > 0) terminal.note(`Created ${created} topics and registered their schemas.`);
    const end = await serve({
      names: serviceNames,
      environment,
      openPorts,
      clock,
      stop: stop.signal,
      log,
      async onStarted(serving) {
        const { context, close } = openContext({
          given: environment,
          environment: () => environment,
          terminal,
          clock,
          log,
          openPorts,
          present: outer.present,
        });
        try {
          await options.onStarted({ ...serving, environment, context, stop: () => stop.abort() });
        } finally {
          await close();
        }
      },
    });
    if (end.type === 'failed') throw end.error;
  } finally {
    terminal.note('Stopping.');
    await infrastructure.stop();
  }
}

/** Hears of every decision from now on. Answers what ends that. */
export async function watchDecisions(
  { bus, registry }: World,
  onDecision: (decision: Decision) => void,
): Promise<() => Promise<void>> {
  const codec = await createCodec({ registry, writes: [] });
  const tail = await bus.tail(decisions.name, (_partition, record) => {
    void (async () => {
      const decoded = await codec.decode(decisions, record.value);
      if (decoded.type === 'value') onDecision(decoded.value);
    })();
  });
  await tail.ready;
  return tail.close;
}

import type { Topic } from '../../schemas/define.ts';
import { topics } from '../../schemas/index.ts';
import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { readConfig } from '../../shared/config.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createEmbeddedInfrastructure } from '../../shared/runtime/memory/embedded.ts';
import { performCall } from '../../shared/runtime/perform-call.ts';
import { createPublisher } from '../../shared/runtime/publisher.ts';
import { type RunningStage, runStage } from '../../shared/runtime/run-stage.ts';
import { config as runtimeConfig } from '../../shared/runtime/runtime-settings.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { stages } from '../index.ts';
import { chapters } from './commands/index.ts';
import { runCommandLine } from './run.ts';
import { plain } from './style.ts';
import type { Terminal } from './terminal.ts';

/** What a run of the command line printed and how it ended. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly notes: string;
}

/** The command line over an infrastructure in memory, for tests. */
export interface TestWorld {
  readonly run: (...args: readonly string[]) => Promise<Printed>;
  /** Runs a command with --json and answers its value. */
  readonly json: (...args: readonly string[]) => Promise<unknown>;
  readonly publish: <V>(topic: Topic<V>, value: V) => Promise<void>;
  /** Appends bytes that no publisher of ours would make. */
  readonly receiveBytes: (partition: number, value: Buffer) => Promise<void>;
  readonly start: (...names: readonly string[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const limits = { maxRequestBytes: () => 900_000, retryMs: 10, inFlight: 1 } as const;

/** Makes an empty world. `secret` is what is typed when a command asks for one. */
export function createTestWorld(environment: Readonly<Record<string, string>>, secret = ''): TestWorld {
  const infrastructure = createEmbeddedInfrastructure();
  const clock = systemClock;
  const running: RunningStage[] = [];
  const bus = infrastructure.bus();
  const sender = createSender({ bus, clock, limits });
  const codecOf = () => createCodec({ registry: infrastructure.registry(), writes: topics });

  const run = async (...args: readonly string[]): Promise<Printed> => {
    const out: string[] = [];
    const notes: string[] = [];
    const terminal: Terminal = {
      style: plain,
      noteStyle: plain,
      out: (text) => out.push(text),
      note: (text) => notes.push(text),
      progress: () => undefined,
      confirm: async () => false,
      readSecret: async () => secret,
    };
    const code = await runCommandLine(args, {
      chapters,
      version: '0.0.0',
      terminal,
      clock,
      log: silentLog,
      given: environment,
      environment: () => environment,
      openPorts: () => ({
        bus: async () => infrastructure.bus(),
        store: async () => infrastructure.store(),
        registry: async () => infrastructure.registry(),
      }),
    });
    return { code, out: out.join('\n'), notes: notes.join('\n') };
  };

  return {
    run,
    async json(...args) {
      const { code, out, notes } = await run(...args, '--json');
      if (code !== 0) throw new Error(notes);
      return JSON.parse(out);
    },
    async publish(topic, value) {
      await createPublisher({ bus, codec: await codecOf(), sender }).publish(topic, value);
    },
    receiveBytes: (partition, value) =>
      bus.produce([{ topic: rawProviderFacts.name, partition, key: Buffer.from('k'), value }]),
    async start(...names) {
      for (const name of names) {
        const stage = stages.get(name);
        if (stage === undefined) throw new RangeError(`no stage ${name}`);
        const started = await runStage({
          stage,
          settings: readConfig([stage.config] as const, environment)[0],
          bus: infrastructure.bus(),
          store: infrastructure.store(),
          codec: await codecOf(),
          sender: createSender({ bus: infrastructure.bus(), clock, limits }),
          clock,
          runtime: runtimeConfig.schema.parse({ commitMs: 50, tickMs: 10 }),
          perform: performCall,
          log: silentLog,
          observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
        });
        running.push(started);
      }
    },
    async stop() {
      await Promise.all(running.splice(0).map((stage) => stage.stop()));
      sender.stop();
      await bus.close();
    },
  };
}

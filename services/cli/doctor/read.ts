import { bindings } from '../../../schemas/binding.ts';
import { connections } from '../../../schemas/connection.ts';
import { connectionStates } from '../../../schemas/connection-state.ts';
import { deadLetters } from '../../../schemas/dead-letter.ts';
import { decisions } from '../../../schemas/decision.ts';
import type { Topic } from '../../../schemas/define.ts';
import { rawProviderFacts } from '../../../schemas/raw-provider-fact.ts';
import type { TopicInspection } from '../../../shared/runtime/bus.ts';
import { groupOf } from '../../../shared/runtime/run-stage.ts';
import type { AnyStage } from '../../../shared/stage/index.ts';
import type { CommandContext } from '../context.ts';
import { type Answer, answerOf } from './answer.ts';
import type { Installation } from './installation.ts';
import { readTable } from './read-configuration.ts';
import { readFuture, readGroups, readLetters, readNeeds, readSchemas } from './read-log.ts';

/** How long one question may take. */
const limitMs = 20_000;

/** Reads an installation and changes nothing. What stands on something that is away is not asked for. */
export async function readInstallation(
  context: CommandContext,
  wanted: {
    readonly node: string;
    readonly topics: readonly Topic[];
    readonly stages: readonly AnyStage[];
    readonly watchMs: number;
  },
): Promise<Installation> {
  const { clock, terminal } = context;
  const { topics, watchMs } = wanted;
  const deployment = context.deployment();
  const ask = <T>(doing: string, question: () => Promise<T>, moreMs = 0): Promise<Answer<T>> => {
    terminal.progress(`${doing} …`);
    return answerOf(clock, limitMs + moreMs, question);
  };

  const bus = await ask('Asking the brokers', async () =>
    (await context.bus()).inspect({
      topics: topics.map(({ name }) => name),
      groups: wanted.stages.map(({ name }) => groupOf(name)),
    }),
  );
  const store = await ask('Asking Redis', async () => {
    const opened = await context.store();
    const before = clock.now();
    const inspection = await opened.inspect();
    return { ...inspection, aheadMs: Math.round(inspection.at - (before + clock.now()) / 2) };
  });
  const schemas = await ask('Asking the registry', async () => readSchemas(await context.registry(), topics));

  const present = bus.type === 'answered' ? bus.value.topics : new Map<string, TopicInspection>();
  const askIf = async <T>(
    names: readonly string[],
    doing: string,
    question: () => Promise<T>,
    moreMs = 0,
  ): Promise<Answer<T> | undefined> =>
    names.length > 0 && names.every((name) => present.has(name)) ? ask(doing, question, moreMs) : undefined;
  // Values cannot be read without their schemas: each would be waited for.
  const readable = (topic: Topic): readonly string[] => (schemas.type === 'answered' ? [topic.name] : []);
  const stages = wanted.stages.filter(({ input }) => present.has(input.name));

  return {
    now: clock.now(),
    node: wanted.node,
    deployment,
    bus,
    store,
    schemas,
    connections: await askIf(readable(connections as Topic), 'Reading connections', () =>
      readTable(context, connections),
    ),
    states: await askIf(readable(connectionStates as Topic), 'Reading what was found of connections', () =>
      readTable(context, connectionStates),
    ),
    bindings: await askIf(readable(bindings as Topic), 'Reading bindings', () => readTable(context, bindings)),
    groups: await askIf(
      stages.map(({ input }) => input.name),
      `Watching the stages for ${watchMs / 1_000} s`,
      async () => readGroups(context, await context.bus(), stages, watchMs),
      watchMs,
    ),
    needs: await askIf(
      store.type === 'answered' ? stages.map(({ input }) => input.name) : [],
      'Looking what is kept',
      async () => readNeeds({ bus: await context.bus(), store: await context.store(), topics: present }, stages),
    ),
    future: await askIf([rawProviderFacts.name, decisions.name], 'Comparing clocks', async () =>
      readFuture(await context.bus(), [rawProviderFacts, decisions] as readonly Topic[], clock.now),
    ),
    letters: await askIf(readable(deadLetters as Topic), 'Counting dead letters', async () =>
      readLetters(context, await context.bus(), clock.now()),
    ),
  };
}

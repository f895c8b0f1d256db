import { z } from 'zod';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { actorEvents } from '../../schemas/actor-event.ts';
import { Binding, bindings } from '../../schemas/binding.ts';
import { Connection, connections } from '../../schemas/connection.ts';
import { connectionStates } from '../../schemas/connection-state.ts';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import type { Topic } from '../../schemas/define.ts';
import { SignalChannelId, SourceEntryId } from '../../schemas/ids.ts';
import { normalizedFacts } from '../../schemas/normalized-fact.ts';
import { RawProviderFact, rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { stage as filter } from '../../services/filter/stage.ts';
import { stage as mirrorProjector } from '../../services/mirror-projector/stage.ts';
import { normalizer } from '../../services/normalizer/normalizer.ts';
import { partitionOf } from '../../shared/partition.ts';
import { type AnyProvider, defineProvider, issuesOf, type ProviderFact } from '../../shared/provider.ts';
import type { Faults } from '../../shared/runtime/memory/faults.ts';
import { createSimulation, type Simulation } from '../../shared/runtime/memory/simulation.ts';
import type { AnyStage } from '../../shared/stage/stage.ts';
import { codecFromAbove, registerAll } from './from-above.ts';
import { startRebuilds } from './rebuilds.ts';
import { allRules, type Rules, startFleet } from './stage-fleet.ts';

export const partitions = 2;

/** A provider whose events say outright which facts they are. */
const scripted = defineProvider({
  name: 'scripted',
  title: 'Scripted',
  config: z.strictObject({}),
  kinds: ['events'],
  keepHeaders: [],
  verify: () => ({ ok: true }),
  identify: () => undefined,
  normalize({ body }) {
    const script = Script.safeParse(body);
    if (!script.success) return { type: 'invalid', issues: issuesOf(script.error) };
    return { type: 'facts', facts: script.data.map(factOf) };
  },
  origin: () => ({}),
});

/** The channel in which people talk, so that what they say waits in batches; the others hold issues. */
const chat = 'scripted:chat';
const channels = ['scripted:c0', 'scripted:c1', 'scripted:c2', chat, chat] as const;

/** Windows that close within a run, so that its timers fire among everything else that happens. */
const windows = { addressedMs: 120, neutralMs: 60, ambientMs: 90, ambientMostMs: 300 };

const Script = z.array(
  z.object({
    channel: SignalChannelId,
    entry: SourceEntryId,
    kind: z.enum(['written', 'edited', 'removed', 'reacted', 'clicked']),
    text: z.string(),
    time: z.int(),
  }),
);
type Script = z.infer<typeof Script>;

const factOf = ({ channel, entry, kind, text, time }: Script[number]): ProviderFact => {
  const isChat = channel === chat;
  const about = {
    signalChannelId: channel,
    sourceEntryId: entry,
    channel: { kind: isChat ? 'im_group' : 'issue', name: `${channel} ${text}` },
  } as const;
  switch (kind) {
    case 'removed':
      return { type: 'entry_lifecycle', lifecycleKind: 'removed', ...about };
    case 'reacted':
      return {
        type: 'reaction',
        ...about,
        reactionKey: 'eyes',
        actorKey: text,
        action: time % 2 === 0 ? 'add' : 'remove',
        providerTime: time,
      };
    case 'clicked':
      return { type: 'action', ...about, actionId: 'approve', action: { text } };
    case 'written':
    case 'edited':
      return {
        type: 'entry_received',
        ...about,
        providerTime: time,
        text,
        ...(isChat ? talk(text) : { author: { id: 'mei', kind: 'user' }, actorEventType: 'scripted.entry' }),
        ...(kind === 'edited' && { edited: true }),
      };
  }
};

/** A message of a conversation: of one of two people, and to the agent or to nobody. */
const talk = (text: string) => {
  const number = Number(text.at(-1));
  return {
    author: { id: number % 2 === 0 ? 'mei' : 'jonas', kind: 'user' as const },
    explicit: number < 2,
    ...(number === 4 && { replyToSourceEntryId: SourceEntryId.parse('e0') }),
  };
};

/** The three stages of the main job, over the scripted provider. */
export const pipeline: readonly AnyStage[] = [
  normalizer(new Map<string, AnyProvider>([['scripted', scripted]])),
  filter,
  mirrorProjector,
];

const bindingOf = (name: string, more: Partial<Binding>): Binding =>
  Binding.parse({
    agentUid: 'iris',
    name,
    adapter: 'scripted',
    connectionId: 'play',
    filters: {},
    unaddressedGroupMessagePolicy: 'record_only',
    enabled: true,
    unavailableReason: null,
    updatedAt: 1,
    ...more,
  });

export const routes: readonly Binding[] = [
  bindingOf('all', { unaddressedGroupMessagePolicy: 'may_intervene', windows }),
  bindingOf('even', {
    unaddressedGroupMessagePolicy: 'ignore',
    windows,
    filters: {
      cel: "signal.kind != 'entry_received' || signal.entry.text.endsWith('0') || signal.entry.text.endsWith('2')",
    },
  }),
  bindingOf('broken', {
    filters: {
      cel: "signal.kind == 'entry_received' && signal.entry.text.endsWith('3') ? signal.entry.nothing == 1 : false",
    },
  }),
  bindingOf('off', { enabled: false }),
];

export const account: Connection = Connection.parse({
  id: 'play',
  provider: 'scripted',
  config: {},
  secrets: {},
  updatedAt: 1,
});

const written: readonly Topic[] = [
  rawProviderFacts,
  normalizedFacts,
  acceptedFacts,
  actorEvents,
  decisions,
  deadLetters,
  bindings,
  connections,
  connectionStates,
].map((topic) => topic as Topic);

/** What a run of the pipeline is made of. */
export interface PipelineRun {
  readonly seed: number;
  readonly facts: number;
  readonly faults: Partial<Faults>;
  readonly disturbances: number;
  readonly rules?: Rules;
  /** All processes of the pipeline die at this step after its start, and others take their places. */
  readonly killAllAt?: number;
  /** A stage is rebuilt again and again meanwhile, and each rebuild may die. */
  readonly rebuild?: boolean;
  /** Whether the store may lose writes; it may where nothing is said. */
  readonly forgets?: boolean;
  /** Who reads meanwhile goes to the generation in use at once. */
  readonly impatient?: boolean;
}

/** A run that has ended, and the number of steps that the pipeline took. */
export interface PipelineSimulation extends Simulation {
  readonly steps: () => number;
}

/** Runs the pipeline over scripted facts until nothing moves any more. */
export async function runPipeline(run: PipelineRun): Promise<PipelineSimulation> {
  const simulation = createSimulation({ seed: run.seed, faults: run.faults, maxBatch: 4 });
  const { random } = simulation;
  registerAll(simulation, written);
  simulation.createTopics(written.map(({ name }) => ({ name, partitions })));

  const outside = simulation.process('outside');
  const publish = async (): Promise<void> => {
    // Ids were given from above: what is outside of the pipeline suffers no faults of a registry.
    const codec = await codecFromAbove(simulation, written);
    const append = async (topic: string, key: string, value: Buffer): Promise<void> => {
      for (;;) {
        try {
          return await outside.bus.produce([
            { topic, partition: partitionOf(key, partitions), key: Buffer.from(key), value },
          ]);
        } catch {
          // A sender outside of the pipeline that was not answered sends again: two raw facts, one event.
          await outside.clock.sleep(20);
        }
      }
    };
    await append('connections', account.id, codec.encode(connections, account));
    for (const route of routes) await append('bindings', bindings.key(route), codec.encode(bindings, route));
    for (let index = 0; index < run.facts; index++) {
      const fact = scriptedFact(index, random.pick);
      const bytes = random.chance(0.04) ? Buffer.from('no frame') : codec.encode(rawProviderFacts, fact);
      await append('raw-provider-facts', rawProviderFacts.key(fact), bytes);
    }
  };
  let published = false;
  void publish().then(() => {
    published = true;
  });
  await simulation.run({ until: () => simulation.records('bindings').flat().length >= routes.length });

  const fleet = startFleet(simulation, {
    stages: pipeline,
    copies: 2,
    writes: written,
    rules: run.rules ?? allRules,
    disturbances: run.disturbances,
    ...(run.forgets !== undefined && { forgets: run.forgets }),
  });
  const rebuilds = startRebuilds(simulation, {
    stage: mirrorProjector,
    writes: written,
    disturbances: run.rebuild === true ? 8 : 0,
  });
  let steps = 0;
  const before = (): void => {
    steps++;
    if (steps === run.killAllAt) fleet.killAll();
    fleet.disturb();
    rebuilds.disturb();
  };
  await simulation.run({ until: () => published, before });
  await simulation.run({ steps: 400, before });
  fleet.calm();
  const wrong = run.rebuild === true ? await rebuilds.finish() : [];
  if (wrong.length > 0) throw new Error(wrong.join('; '));
  await simulation.run({ quietMs: 1_500, before });
  return { ...simulation, steps: () => steps };
}

const kinds = [
  ...(['written', 'written', 'written', 'written', 'written'] as const),
  ...(['edited', 'edited', 'removed', 'reacted', 'reacted', 'clicked'] as const),
];

/** The next raw fact: few channels and entries, so that edits, repeats, removals and late arrivals all meet. */
function scriptedFact(index: number, pick: (count: number) => number): RawProviderFact {
  const anyChannel = (): string => channels[pick(channels.length)] ?? chat;
  const channel = anyChannel();
  const script: readonly z.input<typeof Script.element>[] = Array.from({ length: 1 + pick(2) }, () => ({
    channel: pick(5) === 0 ? anyChannel() : channel,
    entry: `e${pick(3)}`,
    kind: kinds[pick(kinds.length)] ?? 'written',
    text: `text ${pick(5)}`,
    time: 1_000 + pick(4),
  }));
  const known = pick(8) !== 0;
  return RawProviderFact.parse({
    id: `raw-${index}`,
    provider: 'scripted',
    connectionId: known ? 'play' : 'unknown',
    kind: 'events',
    eventId: `event-${pick(4) === 0 ? pick(index + 1) : index}`,
    ...(pick(3) !== 0 && { signalChannelId: channel }),
    receivedAt: 1,
    // One that cannot be read counts against its connection, in a row of its own.
    body: pick(10) === 0 ? 'no JSON' : JSON.stringify(script),
    bodyEncoding: 'utf-8',
  });
}

import { deadLetters } from '../../../schemas/dead-letter.ts';
import type { Topic } from '../../../schemas/define.ts';
import { BusError } from '../../../shared/errors.ts';
import { jsonSchemaText, subjectOf } from '../../../shared/json-schema.ts';
import type { Bus, TopicInspection } from '../../../shared/runtime/bus.ts';
import { groupOf } from '../../../shared/runtime/run-stage.ts';
import type { SchemaRegistry } from '../../../shared/runtime/schema-registry.ts';
import type { Store } from '../../../shared/runtime/store.ts';
import type { AnyStage } from '../../../shared/stage/index.ts';
import type { CommandContext } from '../context.ts';
import { type NeedReading, neededFrom } from './check-needed.ts';
import { clockToleranceMs, type LetterReading } from './check-now.ts';
import type { GroupReading, GroupSample } from './check-stages.ts';
import type { SchemaState } from './check-topics.ts';

/**
 * What the registry has of each topic. A schema that it does not have is compared with the one that it has instead, at the
 * level of compatibility that a migration gives every subject: asking makes sure of that level, and registers nothing.
 */
export const readSchemas = (registry: SchemaRegistry, topics: readonly Topic[]): Promise<readonly SchemaState[]> =>
  Promise.all(
    topics.map(async (topic): Promise<SchemaState> => {
      const [subject, text] = [subjectOf(topic), jsonSchemaText(topic)];
      if ((await registry.idOf(subject, text)) !== undefined) return { topic: topic.name, state: 'registered' };
      try {
        await registry.check(subject, text);
        return { topic: topic.name, state: 'absent' };
      } catch (error) {
        if (!(error instanceof BusError) || error.code !== 'schema-incompatible') throw error;
        return { topic: topic.name, state: 'incompatible' };
      }
    }),
  );

const boundsOf = async (bus: Bus, topic: string) => {
  const bounds = await bus.offsets(topic);
  if (bounds === undefined) throw new BusError('topic-missing', { topic });
  return bounds;
};

/** Looks at every stage's group twice, with time in between for a partition to move. */
export async function readGroups(
  { clock }: Pick<CommandContext, 'clock'>,
  bus: Bus,
  stages: readonly AnyStage[],
  watchMs: number,
): Promise<readonly GroupReading[]> {
  const sample = (): Promise<readonly GroupSample[]> =>
    Promise.all(
      stages.map(async ({ name, input }) => {
        // Committed first: what is appended meanwhile is then lag, never less than none.
        const committed = await bus.committed(groupOf(name), input.name);
        return { committed, bounds: await boundsOf(bus, input.name) };
      }),
    );
  const first = await sample();
  await clock.sleep(watchMs);
  const second = await sample();
  const { groupMembers } = await bus.inspect({ topics: [], groups: stages.map(({ name }) => groupOf(name)) });
  const none: GroupSample = { bounds: [], committed: [] };
  return stages.map(({ name }, index) => ({
    stage: name,
    members: groupMembers.get(groupOf(name)) ?? 0,
    first: first[index] ?? none,
    second: second[index] ?? none,
  }));
}

/** What each partition of the stages needs of its topic, and how old the first record is that it still has to read. */
export async function readNeeds(
  from: { readonly bus: Bus; readonly store: Store; readonly topics: ReadonlyMap<string, TopicInspection> },
  stages: readonly AnyStage[],
): Promise<readonly NeedReading[]> {
  const { bus, store, topics } = from;
  const readStage = async ({ name: stage, input }: AnyStage): Promise<readonly NeedReading[]> => {
    const topic: string = input.name;
    const retention = Number(topics.get(topic)?.config['retention.ms'] ?? -1);
    // First of all: a stage at work moves on meanwhile, and must not seem to need what has left by then.
    const bounds = await boundsOf(bus, topic);
    const committed = await bus.committed(groupOf(stage), topic);
    const fences = await Promise.all(
      committed.map(async (_, partition) => {
        const { inUse: generation } = await store.generations({ stage, partition });
        return (await store.open({ stage, partition, generation })).fence;
      }),
    );
    return Promise.all(
      bounds.map(async ({ start, end }, partition): Promise<NeedReading> => {
        const at = { fence: fences[partition] ?? -1n, committed: committed[partition] ?? -1n };
        const offset = neededFrom(at) ?? start;
        const waits = offset >= start && offset < end;
        const [first] = waits ? await bus.read({ topic, partition, offset, limit: 1 }) : [];
        return {
          stage,
          topic,
          partition,
          ...at,
          start,
          at: first?.at,
          retentionMs: retention < 0 ? undefined : retention,
        };
      }),
    );
  };
  return (await Promise.all(stages.map(readStage))).flat();
}

/** The topics that hold a record whose append time has not come here. */
export async function readFuture(bus: Bus, topics: readonly Topic[], now: () => number): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name } of topics) {
    const bounds = await boundsOf(bus, name);
    const soon = now() + clockToleranceMs;
    const ahead = await Promise.all(
      bounds.map(async ({ start, end }, partition) => end > start && (await bus.offsetAt(name, partition, soon)) < end),
    );
    if (ahead.includes(true)) found.push(name);
  }
  return found;
}

const hourMs = 3_600_000;
const lettersOfPartition = 500;

/** The dead letters of the last hour, so many of each partition at most. */
export async function readLetters(
  { codec }: Pick<CommandContext, 'codec'>,
  bus: Bus,
  now: number,
): Promise<{ readonly letters: readonly LetterReading[]; readonly more: boolean }> {
  const decoder = await codec();
  const bounds = await boundsOf(bus, deadLetters.name);
  const letters: LetterReading[] = [];
  let more = false;
  for (const [partition, { end }] of bounds.entries()) {
    const from = await bus.offsetAt(deadLetters.name, partition, now - hourMs);
    if (from >= end) continue;
    const records = await bus.read({ topic: deadLetters.name, partition, offset: from, limit: lettersOfPartition });
    const last = records.at(-1);
    if (last !== undefined && last.offset + 1n < end) more = true;
    for (const record of records) {
      const decoded = await decoder.decode(deadLetters, record.value);
      letters.push(decoded.type === 'value' ? decoded.value : { stage: 'unreadable', code: 'contract-violated' });
    }
  }
  return { letters: letters.map(({ stage, code }) => ({ stage, code })), more };
}

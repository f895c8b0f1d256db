import { actorEvents, sessionKey } from '../../schemas/actor-event.ts';
import { bindings } from '../../schemas/binding.ts';
import { connections } from '../../schemas/connection.ts';
import type { Topic } from '../../schemas/define.ts';
import { partitionOf } from '../../shared/partition.ts';
import type { IncomingRecord } from '../../shared/runtime/bus.ts';
import { effectId } from '../../shared/runtime/header.ts';
import type { Simulation } from '../../shared/runtime/memory/simulation.ts';
import type { AnyStage } from '../../shared/stage/stage.ts';
import { type FoldMessage, fold, type Left } from '../../shared/testing/fold.ts';
import { account, partitions, pipeline, routes } from './pipeline.ts';

interface ReadRecord {
  readonly record: IncomingRecord;
  readonly from: string | undefined;
  readonly rootId: string | undefined;
  /** The id that its stage sees, where a stage made the record. */
  readonly id: string | undefined;
  readonly isTimer: boolean;
  readonly value: unknown;
}

const frameBytes = 5;

/** The header's own fields, read without the runtime. */
function headerOf(record: IncomingRecord): Pick<ReadRecord, 'from' | 'rootId' | 'id' | 'isTimer'> {
  const [, rootId, cause, ...fields] = (record.header ?? '').split(' ').map(decodeURIComponent);
  const field = (name: string) => fields.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
  const [from, timer] = [field('f'), field('ti')];
  const effect = from?.split('/').slice(3).join('/');
  const made = effect === undefined ? undefined : effectId(cause ?? '', effect);
  return { from, rootId, id: timer ?? made, isTimer: timer !== undefined };
}

const read = (record: IncomingRecord): ReadRecord => {
  const text = record.value?.toString('utf8', frameBytes) ?? '';
  const framed = record.value?.[0] === 0;
  return { record, ...headerOf(record), value: framed ? JSON.parse(text) : undefined };
};

/** Records whose origin or timer did not come up before in their partition: what a reader who drops repeats sees. */
function firstAppearances(records: readonly IncomingRecord[]): readonly ReadRecord[] {
  const seen = new Set<string>();
  return records.map(read).filter(({ from, id, isTimer }) => {
    const origin = isTimer ? id : from;
    if (origin === undefined) return true;
    if (seen.has(origin)) return false;
    seen.add(origin);
    return true;
  });
}

const tablesOf = (stage: AnyStage) =>
  Object.fromEntries(
    Object.entries((stage.tables ?? {}) as Record<string, Topic>).map(([name, topic]) => [
      name,
      topic.name === bindings.name ? routes : topic.name === connections.name ? [account] : [],
    ]),
  );

/** Text that is equal where the values are, in whatever order their members came. */
const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

/**
 * Compares a run with the plain fold of what lies in each input partition: rows, and for each output partition the
 * order of first appearances. Answers what is wrong, nothing when all is right.
 */
export function checkPipeline(simulation: Simulation): readonly string[] {
  return [...pipeline.flatMap((stage) => checkStage(simulation, stage)), ...toldTwice(simulation)];
}

/** A provider event that is delivered again is known, whoever died, moved or was rebuilt meanwhile: no agent is told twice. */
function toldTwice(simulation: Simulation): readonly string[] {
  const events = simulation.records(actorEvents.name).flatMap(firstAppearances);
  const names = events.map(({ value }) => {
    const { id, data } = actorEvents.value.parse(value);
    return `${data.session.bindingName} ${sessionKey(data.session)} ${id}`;
  });
  return names.filter((name, index) => names.indexOf(name) < index).map((name) => `${name} was told twice`);
}

function checkStage(simulation: Simulation, stage: AnyStage): readonly string[] {
  const wrong: string[] = [];
  const input: Topic = stage.input;
  const appeared = new Map<string, string[]>();
  for (const topic of [...(stage.outputs as readonly Topic[]).map(({ name }) => name), 'decisions', 'dead-letters']) {
    for (const [partition, records] of simulation.records(topic).entries()) {
      for (const { from, value } of firstAppearances(records)) {
        const [source, sourcePartition] = from?.split('/') ?? [];
        if (source !== input.name) continue;
        const lane = `${sourcePartition} to ${topic}/${partition}`;
        appeared.set(lane, [...(appeared.get(lane) ?? []), asJson(brief(topic, value))]);
      }
    }
  }

  const expectedLanes = new Map<string, string[]>();
  for (const [partition, records] of simulation.records(input.name).entries()) {
    const firsts = firstAppearances(records);
    const messages: FoldMessage<unknown>[] = [];
    const poison = new Map<string, Left['effect']>();
    for (const each of firsts) {
      const id = `${each.record.offset}`;
      const parsed = each.value === undefined ? undefined : input.value.safeParse(each.value);
      if (parsed?.success === true) {
        messages.push({
          id,
          value: parsed.data,
          at: each.record.at,
          ...(each.rootId !== undefined && { rootId: each.rootId }),
          ...(each.id !== undefined && { messageId: each.id }),
          isTimer: each.isTimer,
        });
      } else poison.set(id, { do: 'reject', code: 'frame-invalid', details: {} });
    }
    const folded = fold(stage, messages, { tables: tablesOf(stage), timers: 'given' });
    if (folded.timers.size > 0) wrong.push(`${stage.name}/${partition}: ${folded.timers.size} timers did not fire`);
    const { inUse } = simulation.generations({ stage: stage.name, partition });
    const rows = new Map(
      [...simulation.rows({ stage: stage.name, partition, generation: inUse })].map(([name, json]) => [
        name,
        JSON.parse(json),
      ]),
    );
    const alive = new Map(
      [...rows]
        .filter(([, { x }]) => x === undefined || x > (firsts.at(-1)?.record.at ?? 0))
        .map(([name, { v }]) => [name, v]),
    );
    for (const name of new Set([...alive.keys(), ...folded.rows.keys()])) {
      const [got, want] = [asJson(alive.get(name)), asJson(folded.rows.get(name))];
      if (got !== want) wrong.push(`${stage.name}/${partition} row ${name}: ${got}, the fold says ${want}`);
    }

    const lefts = new Map<string, Left['effect'][]>();
    for (const { message, effect } of folded.left) lefts.set(message, [...(lefts.get(message) ?? []), effect]);
    for (const each of firsts) {
      const { record, value, rootId } = each;
      const id = `${each.record.offset}`;
      const bad = poison.get(id);
      const own = value === undefined ? undefined : input.id?.(value);
      const root = rootId ?? own ?? `${input.name}/${partition}/${record.offset}`;
      const key = record.key?.toString('utf8') ?? '';
      for (const effect of bad === undefined ? (lefts.get(id) ?? []) : [bad]) {
        for (const { topic, laneKey, text } of recordsOf(effect, root, key)) {
          const lane = `${partition} to ${topic}/${partitionOf(laneKey, partitions)}`;
          expectedLanes.set(lane, [...(expectedLanes.get(lane) ?? []), text]);
        }
      }
    }
  }

  for (const lane of new Set([...appeared.keys(), ...expectedLanes.keys()])) {
    const [got, want] = [asJson(appeared.get(lane)), asJson(expectedLanes.get(lane))];
    if (got !== want) wrong.push(`${stage.name} ${lane}: ${got}, the fold says ${want}`);
  }
  return wrong;
}

/** What is compared of a record: all of a value that a stage made, the gist of what the shell made. */
function brief(topic: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const field = (name: string): unknown => Reflect.get(value, name);
  if (topic === 'decisions') return [field('status'), field('reason'), field('rootId')];
  if (topic === 'dead-letters') return [field('code'), field('rootId')];
  return value;
}

/** The records that an effect becomes, in the order in which they are sent. */
function recordsOf(
  effect: Left['effect'],
  root: string,
  key: string,
): readonly { readonly topic: string; readonly laneKey: string; readonly text: string }[] {
  switch (effect.do) {
    case 'emit':
      return [
        {
          topic: effect.topic.name,
          laneKey: effect.topic.key(effect.value),
          text: asJson(effect.topic.value.parse(effect.value)),
        },
      ];
    case 'outcome': {
      const ended = effect.rootId ?? root;
      return [{ topic: 'decisions', laneKey: ended, text: asJson([effect.status, effect.reason, ended]) }];
    }
    case 'reject':
      return [
        { topic: 'dead-letters', laneKey: key, text: asJson([effect.code, root]) },
        { topic: 'decisions', laneKey: root, text: asJson(['dead_letter', effect.code, root]) },
      ];
  }
}

import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import type { Topic } from '../../schemas/define.ts';
import { partitionOf } from '../../shared/partition.ts';
import { createSimulation, type Simulation } from '../../shared/runtime/memory/simulation.ts';
import { type Ask, asks, counted, counting } from '../../shared/testing/counting-stage.ts';
import { codecFromAbove, registerAll } from './from-above.ts';
import type { PipelineRun } from './pipeline.ts';
import { startReader } from './readers.ts';
import { startRebuilds } from './rebuilds.ts';
import { allRules, startFleet } from './stage-fleet.ts';

const partitions = 2;
const keys = ['a', 'b', 'c'] as const;
const written: readonly Topic[] = [asks as Topic, counted as Topic, decisions as Topic, deadLetters as Topic];

/** A run that has ended, and what a reader of its counts saw that it should not have. */
export interface ReminderSimulation extends Simulation {
  readonly wrongReads: () => readonly string[];
}

/** Runs a stage that sets, replaces and cancels timers and makes calls, until nothing moves any more. */
export async function runReminders(run: PipelineRun): Promise<ReminderSimulation> {
  const simulation = createSimulation({ seed: run.seed, faults: run.faults, maxBatch: 4 });
  const { random } = simulation;
  registerAll(simulation, written);
  simulation.createTopics(written.map(({ name }) => ({ name, partitions })));
  const codec = await codecFromAbove(simulation, written);
  const outside = simulation.process('outside');
  let published = false;
  const publish = async (): Promise<void> => {
    for (let index = 0; index < run.facts * 2; index++) {
      const ask = askFor(random.pick);
      const record = {
        topic: asks.name,
        partition: partitionOf(ask.key, partitions),
        key: Buffer.from(ask.key),
        value: codec.encode(asks, ask),
      };
      for (let sent = false; !sent; ) {
        sent = await outside.bus.produce([record]).then(
          () => true,
          () => outside.clock.sleep(20).then(() => false),
        );
      }
      await outside.clock.sleep(random.pick(60));
    }
    published = true;
  };
  void publish();
  const fleet = startFleet(simulation, {
    stages: [counting],
    copies: 3,
    writes: written,
    rules: run.rules ?? allRules,
    disturbances: run.disturbances,
    ...(run.forgets !== undefined && { forgets: run.forgets }),
    perform: async () => ({ status: 200, headers: {}, body: '' }),
  });
  const rebuilds = startRebuilds(simulation, {
    stage: counting,
    writes: written,
    disturbances: run.rebuild === true ? 8 : 0,
  });
  const wanted = keys.map((key) => ({
    at: { stage: counting.name, partition: partitionOf(key, partitions) },
    row: `counts:${key}`,
  }));
  // Where the store may lose writes, a step back is nothing that a rebuild could help.
  const countOf = (json: string): number => JSON.parse(json).v.count;
  const reader = startReader(simulation, run.forgets === false ? wanted : [], countOf, run.impatient);
  const before = (): void => {
    fleet.disturb();
    rebuilds.disturb();
  };
  await simulation.run({ until: () => published, before });
  await simulation.run({ steps: 400, before });
  fleet.calm();
  const wrong = run.rebuild === true ? await rebuilds.finish() : [];
  if (wrong.length > 0) throw new Error(wrong.join('; '));
  await simulation.run({ quietMs: 2_000 });
  const wrongReads = () => (run.forgets === false && reader.reads() === 0 ? ['nothing was read'] : reader.wrong());
  return { ...simulation, wrongReads };
}

function askFor(pick: (count: number) => number): Ask {
  const key = keys[pick(keys.length)] ?? 'a';
  switch (pick(6)) {
    case 0:
    case 1:
      return { type: 'remind', key, inMs: 20 + pick(300) };
    case 2:
      return { type: 'calm', key };
    case 3:
      return { type: 'call', key };
    default:
      return { type: 'count', key, emit: 1 };
  }
}

interface Pending {
  readonly id: string;
}

/**
 * Walks each input partition by hand: a timer counts once, if it is the pending one; an answer counts once. Compares
 * counts, outputs and what is left pending. Answers what is wrong.
 */
export function checkReminders(simulation: Simulation): readonly string[] {
  const wrong: string[] = [];
  for (const [partition, records] of simulation.records(asks.name).entries()) {
    const { inUse } = simulation.generations({ stage: counting.name, partition });
    const slot = { stage: counting.name, partition, generation: inUse };
    const count = new Map<string, number>();
    const pending = new Map<string, Pending>();
    const open = new Set<string>();
    const outputs: string[] = [];
    for (const record of records) {
      const ask = asks.value.parse(JSON.parse(record.value?.toString('utf8', 5) ?? ''));
      const fields = (record.header ?? '').split(' ').map(decodeURIComponent);
      const field = (name: string) => fields.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
      const [timer, answered] = [field('ti'), field('c')];
      if (timer !== undefined && pending.get(ask.key)?.id !== timer) continue;
      if (timer !== undefined) pending.delete(ask.key);
      if (answered !== undefined && !open.delete(answered)) continue;
      const id = `${asks.name}/${partition}/${record.offset}`;
      const now = (count.get(ask.key) ?? 0) + 1;
      switch (ask.type) {
        case 'remind':
          pending.set(ask.key, { id: `${id}.0` });
          break;
        case 'calm':
          pending.delete(ask.key);
          break;
        case 'call':
          count.set(ask.key, now);
          open.add(`${id}.1`);
          break;
        case 'reminded':
        case 'count':
          count.set(ask.key, now);
          outputs.push(JSON.stringify({ key: ask.key, count: now }));
          break;
        case 'answered':
          outputs.push(JSON.stringify({ key: ask.key, count: ask.status }));
          break;
        default:
          wrong.push(`nobody asked for ${ask.type}`);
      }
    }
    for (const key of keys) {
      const row = simulation.row(slot, `counts:${key}`);
      const got: unknown = row === undefined ? undefined : JSON.parse(row).v.count;
      if (got !== count.get(key))
        wrong.push(`counts:${key} in ${partition} is ${String(got)}, the walk says ${count.get(key)}`);
    }
    if (pending.size > 0) wrong.push(`${pending.size} timers of ${partition} did not fire`);
    if (simulation.timers(slot).size > 0) wrong.push(`${simulation.timers(slot).size} timers of ${partition} are left`);
    const seen = new Set<string>();
    const appeared = simulation
      .records(counted.name)
      .flat()
      .filter(({ header = '' }) => {
        const from = decodeURIComponent(/ f=(\S+)/.exec(header)?.[1] ?? '');
        if (!from.startsWith(`${asks.name}/${partition}/`) || seen.has(from)) return false;
        seen.add(from);
        return true;
      })
      .map(({ value }) => value?.toString('utf8', 5) ?? '');
    const byKey = (texts: readonly string[]) =>
      JSON.stringify(keys.map((key) => texts.filter((text) => text.includes(`"${key}"`))));
    if (byKey(appeared) !== byKey(outputs))
      wrong.push(`outputs of ${partition}: ${byKey(appeared)}, the walk says ${byKey(outputs)}`);
  }
  return wrong;
}

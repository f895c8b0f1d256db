import type { Bus, Membership, OutgoingRecord, Tail } from '../bus.ts';
import { attempt, unavailable } from './faults.ts';
import type { MemoryBroker } from './memory-broker.ts';
import { joinMemoryGroup } from './memory-membership.ts';
import { tailMemoryTopic } from './memory-tail.ts';
import type { Process } from './process.ts';

/** The bus as one process has it: a client of the broker in memory. */
export function createMemoryBus(broker: MemoryBroker, process: Process): Bus {
  const { log, groups, settings } = broker;
  const { faults } = settings;
  const memberships = new Set<Membership>();
  const tails = new Set<Tail>();

  const ask = <T>(label: string, effect: () => T): Promise<T> => attempt(process, faults.busFails, label, effect);

  const append = (records: readonly OutgoingRecord[], place: string): void => {
    if (process.random.chance(faults.produceFails)) {
      const fate = process.random.pick(3);
      if (fate === 0) log.append(records);
      if (fate === 1) {
        process.later(process.random.pick(faults.lateMs + 1), `late produce ${place}`, () => log.append(records));
      }
      throw unavailable(`fault in produce ${place}`);
    }
    log.append(records);
    if (process.random.chance(faults.produceTwice)) log.append(records);
  };

  return {
    async produce(records) {
      const requests = Map.groupBy(records, ({ topic, partition }) => `${topic}/${partition}`);
      // A request is atomic in each partition and in no more than that.
      await Promise.all(
        [...requests].map(([place, part]) => process.step(`produce ${place}`, () => append(part, place))),
      );
    },
    async join(group, topic, owner) {
      const membership = await joinMemoryGroup({ broker, process, group, topic, owner });
      memberships.add(membership);
      const forget = () => memberships.delete(membership);
      membership.ended.then(forget, forget);
      return membership;
    },
    async tail(topic, onRecord) {
      const tail = await tailMemoryTopic({ broker, process, topic, onRecord });
      tails.add(tail);
      return tail;
    },
    read: ({ topic, partition, offset, limit }) =>
      ask(`read ${topic}/${partition}`, () => log.read(topic, partition, offset, limit)),
    offsetAt: (topic, partition, at) =>
      ask(`offset-at ${topic}/${partition}`, () => {
        const { start, end } = log.boundsOf(topic, partition);
        const found = log.read(topic, partition, start, Number(end - start)).find((record) => record.at >= at);
        return found?.offset ?? end;
      }),
    offsets: (topic) => ask(`offsets ${topic}`, () => log.bounds(topic)),
    committed: (group, topic) =>
      ask(`committed ${group}`, () =>
        (log.bounds(topic) ?? []).map((_, partition) => groups.committed(group, topic, partition)),
      ),
    inspect: (wanted) =>
      ask('inspect', () => ({
        brokers: 1,
        requests: [],
        topics: new Map(
          wanted.topics.flatMap((topic) => {
            const found = log.inspect(topic);
            return found === undefined ? [] : [[topic, found] as const];
          }),
        ),
        groupMembers: new Map(wanted.groups.map((group) => [group, groups.members(group)])),
      })),
    createTopics: (topics) => ask('create-topics', () => topics.forEach(log.create)),
    async close() {
      await Promise.all([
        ...[...memberships].map((membership) => membership.leave()),
        ...[...tails].map((tail) => tail.close()),
      ]);
    },
  };
}

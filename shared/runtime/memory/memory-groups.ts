import { unavailable } from './faults.ts';

/** A member's share of a topic, as of a generation of its group. */
export interface Share {
  readonly generation: number;
  readonly partitions: readonly number[];
}

/** Who may do something in a group: a member, as of a generation. */
export interface Standing {
  readonly group: string;
  readonly topic: string;
  readonly member: number;
  readonly generation: number;
}

/** The consumer groups of the twin: who is in them, who has which partition, what is committed. */
export interface MemoryGroups {
  readonly join: (group: string, topic: string) => number;
  /** The member's share now; takes the member in again when the group has forgotten it. */
  readonly share: (standing: Standing) => Share;
  /** Tells that the member lives; answers whether its standing is still that of the group. */
  readonly heartbeat: (standing: Standing) => boolean;
  readonly leave: (standing: Standing) => void;
  /** Refuses members of another generation, and lets offsets go back: both as Kafka does. */
  readonly commit: (standing: Standing, offsets: ReadonlyMap<number, bigint>) => void;
  /** The committed offset; -1 where there is none. */
  readonly committed: (group: string, topic: string, partition: number) => bigint;
  /** How many are in the group, whatever they read. */
  readonly members: (group: string) => number;
}

interface Group {
  generation: number;
  /** When each member was heard of, in the order in which they came. */
  readonly members: Map<number, number>;
  readonly committed: Map<number, bigint>;
}

/** Makes a coordinator without groups. A member that is not heard of for `sessionMs` is put out. */
export function createMemoryGroups(options: {
  readonly now: () => number;
  readonly changed: () => void;
  readonly sessionMs: number;
  readonly partitionsOf: (topic: string) => number;
}): MemoryGroups {
  const groups = new Map<string, Group>();
  let lastMember = 0;

  /** A group and topic, after those were put out that were not heard of. */
  const groupOf = (name: string, topic: string): Group => {
    const id = JSON.stringify([name, topic]);
    const group = groups.get(id) ?? { generation: 0, members: new Map(), committed: new Map() };
    groups.set(id, group);
    for (const [member, heardAt] of group.members) {
      if (options.now() - heardAt > options.sessionMs) remove(group, member);
    }
    return group;
  };
  const add = (group: Group, member: number): void => {
    group.members.set(member, options.now());
    group.generation++;
  };
  const remove = (group: Group, member: number): void => {
    if (group.members.delete(member)) group.generation++;
  };
  const stands = (group: Group, standing: Standing): boolean =>
    group.members.has(standing.member) && group.generation === standing.generation;

  return {
    join(name, topic) {
      const member = ++lastMember;
      add(groupOf(name, topic), member);
      return member;
    },
    share({ group: name, topic, member }) {
      const group = groupOf(name, topic);
      if (!group.members.has(member)) add(group, member);
      group.members.set(member, options.now());
      const members = [...group.members.keys()];
      const partitions = Array.from({ length: options.partitionsOf(topic) }, (_, partition) => partition);
      return {
        generation: group.generation,
        // Turned by the generation, so that a rebalance moves partitions about.
        partitions: partitions.filter((each) => members[(each + group.generation) % members.length] === member),
      };
    },
    heartbeat(standing) {
      const group = groupOf(standing.group, standing.topic);
      if (group.members.has(standing.member)) group.members.set(standing.member, options.now());
      return stands(group, standing);
    },
    leave: (standing) => remove(groupOf(standing.group, standing.topic), standing.member),
    commit(standing, offsets) {
      const group = groupOf(standing.group, standing.topic);
      if (!stands(group, standing)) throw unavailable('the group has moved on');
      for (const [partition, offset] of offsets) {
        if (group.committed.get(partition) !== offset) options.changed();
        group.committed.set(partition, offset);
      }
    },
    members(name) {
      // The ids are made above.
      const topics = [...groups.keys()].map((id) => JSON.parse(id) as [group: string, topic: string]);
      return topics
        .filter(([group]) => group === name)
        .reduce((sum, [group, topic]) => sum + groupOf(group, topic).members.size, 0);
    },
    committed: (name, topic, partition) => groupOf(name, topic).committed.get(partition) ?? -1n,
  };
}

import type { Membership, PartitionOwner } from '../bus.ts';
import { attempt, persist } from './faults.ts';
import type { MemoryBroker } from './memory-broker.ts';
import { fetchBatch } from './memory-fetch.ts';
import type { Standing } from './memory-groups.ts';
import { createGate, type Gate, type Process } from './process.ts';

/** A partition that the member has or had. */
interface Place {
  readonly partition: number;
  readonly gate: Gate;
  /** The calls of its owner, one after another; undefined while there is nobody to call. */
  running: Promise<void> | undefined;
  held: boolean;
  /** The owner is to be asked where to read. */
  opening: boolean;
  /** The owner knows that it has the partition. */
  known: boolean;
}

/** Joins a group and drives an owner until the membership ends. */
export async function joinMemoryGroup(options: {
  readonly broker: MemoryBroker;
  readonly process: Process;
  readonly group: string;
  readonly topic: string;
  readonly owner: PartitionOwner;
}): Promise<Membership> {
  const { broker, process, group, topic, owner } = options;
  const { log, groups, settings } = broker;
  const { busFails } = settings.faults;
  const places = new Map<number, Place>();
  const ended = Promise.withResolvers<void>();
  const quit = new AbortController();
  let stopping = false;
  let heartbeatAt = process.clock.now();
  let rejoining: Promise<void> | undefined;
  let leaving: Promise<void> | undefined;

  const member = await attempt(process, busFails, `join ${group}`, () => {
    log.boundsOf(topic, 0);
    return groups.join(group, topic);
  });
  let standing: Standing = { group, topic, member, generation: 0 };

  const revoke = (place: Place): void => {
    place.held = false;
    if (place.known) owner.revoked(place.partition);
    place.known = false;
    place.gate.open();
  };
  const open = (place: Place): void => {
    place.opening = true;
    place.gate.open();
  };
  const grant = (partition: number): void => {
    const place = places.get(partition) ?? {
      partition,
      gate: createGate(),
      running: undefined,
      held: false,
      opening: false,
      known: false,
    };
    places.set(partition, place);
    place.held = true;
    open(place);
    place.running ??= drive(place);
  };

  /** Learns the present share: what is lost is revoked, all the rest is opened anew. */
  const rejoin = (): Promise<void> => {
    rejoining ??= persist(process, busFails, `rejoin ${group}`, () => groups.share(standing))
      .then((share) => {
        if (stopping) return;
        standing = { ...standing, generation: share.generation };
        for (const place of places.values()) {
          if (place.held && !share.partitions.includes(place.partition)) revoke(place);
        }
        for (const partition of share.partitions) grant(partition);
      })
      .finally(() => {
        rejoining = undefined;
      });
    return rejoining;
  };

  const goodbye = (): Promise<void> => persist(process, busFails, `leave ${group}`, () => groups.leave(standing));
  const end = (error: unknown): void => {
    stopping = true;
    quit.abort();
    for (const place of places.values()) if (place.held) revoke(place);
    ended.reject(error);
    void goodbye();
  };

  /** Asks where the group stands in a partition; undefined when the partition is no longer the member's. */
  const position = (partition: number) =>
    persist(process, busFails, `position ${group}/${partition}`, () => {
      if (!groups.heartbeat(standing)) return undefined;
      const committed = groups.committed(group, topic, partition);
      return { committed: committed < 0n ? 0n : committed, start: log.boundsOf(topic, partition).start };
    });

  const handle = async (place: Place): Promise<void> => {
    const { partition, gate } = place;
    const owned = (): boolean => place.held && !stopping;
    let offset = 0n;
    while (owned()) {
      if (place.opening) {
        const found = await position(partition);
        if (!owned()) return;
        if (found === undefined) {
          await rejoin();
          continue;
        }
        place.opening = false;
        place.known = true;
        offset = await owner.assigned(partition, found);
        continue;
      }
      const batch = await fetchBatch({ broker, process, topic, partition, offset, wake: gate.open });
      if (!owned() || place.opening) continue;
      if (batch === undefined) await gate.passed();
      else offset = await owner.batch(partition, batch);
    }
  };
  const drive = async (place: Place): Promise<void> => {
    try {
      await handle(place);
    } catch (error) {
      end(error);
    }
    place.running = undefined;
    // It may have come back while its last call ran.
    if (place.held && !stopping) place.running = drive(place);
  };

  const beat = async (): Promise<void> => {
    while (!quit.signal.aborted) {
      await process.clock.sleep(settings.heartbeatMs, quit.signal);
      if (quit.signal.aborted) return;
      const stands = await persist(process, busFails, `heartbeat ${group}`, () => groups.heartbeat(standing));
      heartbeatAt = process.clock.now();
      if (!stands && !stopping) await rejoin();
    }
  };

  const leave = async (): Promise<void> => {
    stopping = true;
    for (const place of places.values()) place.gate.open();
    await Promise.all([...places.values()].map((place) => place.running));
    quit.abort();
    for (const place of places.values()) if (place.held) revoke(place);
    await goodbye();
    ended.resolve();
  };

  await rejoin();
  beat().catch(end);

  return {
    commit: async (offsets) => {
      const asked = standing;
      await attempt(process, busFails, `commit ${group}`, () => groups.commit(asked, offsets));
    },
    reopen(partition) {
      const place = places.get(partition);
      if (place?.held === true) open(place);
    },
    health: () => ({
      joined: !stopping,
      heartbeatAt,
      partitions: [...places.values()]
        .filter((place) => place.held)
        .map((place) => place.partition)
        .toSorted((a, b) => a - b),
    }),
    ended: ended.promise,
    leave: () => {
      leaving ??= leave();
      return leaving;
    },
  };
}

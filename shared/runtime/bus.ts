/** A record on its way to the log. `header` is the text of the `sb` header. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly header?: string;
  readonly traceparent?: string;
}

/** A record as it lies in the log. `at` is the broker's append time, epoch milliseconds. */
export interface IncomingRecord {
  readonly offset: bigint;
  readonly at: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly header: string | undefined;
  readonly traceparent: string | undefined;
}

/** Consecutive records of one partition. `next` is the offset to read after them, control records included. */
export interface RecordBatch {
  readonly records: readonly IncomingRecord[];
  readonly next: bigint;
  /** The end of the partition when this was read: its distance from `next` is the lag. */
  readonly end: bigint;
}

/**
 * What a member of a group does with its partitions. The bus calls `assigned` before the first batch of a partition and
 * again after each rebalance; calls for one partition never overlap. A call that throws ends the membership with that
 * error: waiting for what is out of reach is the owner's work, inside the call.
 */
export interface PartitionOwner {
  /** `committed` is the group's committed offset (0 when none), `start` the first offset that is kept. Answers where to read from. */
  readonly assigned: (
    partition: number,
    position: { readonly committed: bigint; readonly start: bigint },
  ) => Promise<bigint>;
  /** Answers where to read next: `batch.next`, or another offset to seek there. */
  readonly batch: (partition: number, batch: RecordBatch) => Promise<bigint>;
  /** The partition belongs to somebody else, or to nobody, from now on. */
  readonly revoked: (partition: number) => void;
}

/** How the bus feels about a membership, for probes. Instants are epoch milliseconds of the bus's clock. */
export interface MembershipHealth {
  readonly joined: boolean;
  readonly heartbeatAt: number;
  readonly partitions: readonly number[];
}

/** A place in a consumer group. */
export interface Membership {
  /** Commits offsets to the group; resolves when the broker has answered. */
  readonly commit: (offsets: ReadonlyMap<number, bigint>) => Promise<void>;
  /** Has the owner asked again where to read, through `assigned`, as after a rebalance. */
  readonly reopen: (partition: number) => void;
  readonly health: () => MembershipHealth;
  /** Rejects when the membership ended by itself; resolves after `leave`. */
  readonly ended: Promise<void>;
  /** Lets running calls finish, then leaves the group. */
  readonly leave: () => Promise<void>;
}

/** A reader of a whole topic, without a group. */
export interface Tail {
  /** Resolves when everything that the topic held at the start was read. */
  readonly ready: Promise<void>;
  readonly close: () => Promise<void>;
}

/** What a topic should be when it is created. `config` has the broker's own names. */
export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  readonly replicas: number;
  readonly config: Readonly<Record<string, string>>;
}

/** A topic as the brokers have it. */
export interface TopicInspection {
  readonly partitions: number;
  /** The fewest of any partition. */
  readonly replicas: number;
  readonly inSync: number;
  /** Partitions that nobody leads: they cannot be read or written. */
  readonly leaderless: number;
  /** By the broker's own names. */
  readonly config: Readonly<Record<string, string>>;
}

/** Versions of a request, both ends included. */
export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

/** What the brokers say of themselves, and of some topics and groups. */
export interface BusInspection {
  readonly brokers: number;
  /** The requests that this client makes: in which versions, and in which all brokers take them. */
  readonly requests: readonly {
    readonly name: string;
    readonly made: VersionRange;
    readonly taken: VersionRange | undefined;
  }[];
  /** Those that exist. */
  readonly topics: ReadonlyMap<string, TopicInspection>;
  readonly groupMembers: ReadonlyMap<string, number>;
}

/** The log, as narrow as the shell needs it. Failures are `BusError('infrastructure-unavailable')`. */
export interface Bus {
  /**
   * Makes one produce request and resolves when all in-sync replicas have the records. A rejection leaves open whether
   * they were appended. Records of one partition keep their order. The caller has one request in flight at a time. A broker
   * handles the requests of one connection one after another, so each `producer` has its own.
   */
  readonly produce: (records: readonly OutgoingRecord[], producer?: string) => Promise<void>;
  readonly join: (group: string, topic: string, owner: PartitionOwner) => Promise<Membership>;
  /** Reads all partitions from their start, and goes on. `onRecord` must not throw. */
  readonly tail: (topic: string, onRecord: (partition: number, record: IncomingRecord) => void) => Promise<Tail>;
  /** Reads up to `limit` records from an offset; fewer at the end of the partition. */
  readonly read: (from: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: bigint;
    readonly limit: number;
    /** What comes in one answer is enough: at least one record where there is one, and maybe not all up to the limit. */
    readonly atOnce?: true;
  }) => Promise<readonly IncomingRecord[]>;
  /** The first offset whose record was appended at or after an instant; the end when there is none. */
  readonly offsetAt: (topic: string, partition: number, at: number) => Promise<bigint>;
  /** First kept and next offset of each partition, by partition; undefined when the topic does not exist. */
  readonly offsets: (topic: string) => Promise<readonly { readonly start: bigint; readonly end: bigint }[] | undefined>;
  /** The committed offsets of a group, by partition; -1 where there is none. */
  readonly committed: (group: string, topic: string) => Promise<readonly bigint[]>;
  /** For a person who looks, and a process that starts; no stage asks this. */
  readonly inspect: (wanted: {
    readonly topics: readonly string[];
    readonly groups: readonly string[];
  }) => Promise<BusInspection>;
  /** Creates topics that do not exist; leaves the others as they are. */
  readonly createTopics: (topics: readonly TopicSpec[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

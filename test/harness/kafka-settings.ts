/** What makes a broker fit for a single node: one replica of everything, few partitions of its own, no waits. */
export const singleNode: Readonly<Record<string, string>> = {
  'auto.create.topics.enable': 'false',
  'default.replication.factor': '1',
  'min.insync.replicas': '1',
  // A batch of 4 MiB and what surrounds it.
  'message.max.bytes': '5242880',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '8',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '8',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'share.coordinator.state.topic.num.partitions': '1',
  'group.initial.rebalance.delay.ms': '0',
  // A broker that was killed is let in again only when its last session is over (9 s unless said otherwise).
  'broker.session.timeout.ms': '6000',
  'broker.heartbeat.interval.ms': '1000',
  'log.cleaner.dedupe.buffer.size': '16777216',
};

/** A setting's name as the container images take it from their environment. */
export const asVariable = (setting: string): string => `KAFKA_${setting.replaceAll('.', '_').toUpperCase()}`;

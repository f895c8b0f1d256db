import { inject } from 'vitest';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { busContract } from '../../shared/testing/bus-contract.ts';

const { kafkaBrokers } = inject('infrastructure');

busContract('Kafka', {
  connect: () => createKafkaBus({ brokers: kafkaBrokers.split(','), clientId: 'contract', tls: false }, silentLog),
  now: () => Date.now(),
});

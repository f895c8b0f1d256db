import { expect, test } from 'vitest';
import { topicShapeOf } from './topic-config.ts';

test('a topic that keeps days deletes by time', () => {
  expect(topicShapeOf({ name: 'facts', keep: { days: 7 } }, { partitions: 12, replicas: 1 })).toEqual({
    name: 'facts',
    partitions: 12,
    replicas: 1,
    config: {
      'cleanup.policy': 'delete',
      'retention.ms': '604800000',
      'retention.bytes': '-1',
      'message.timestamp.type': 'LogAppendTime',
      'compression.type': 'uncompressed',
      'max.message.bytes': '1048576',
    },
  });
});

test('a topic that keeps for ever deletes nothing', () => {
  expect(topicShapeOf({ name: 'goals', keep: 'forever' }, { partitions: 1, replicas: 1 }).config).toMatchObject({
    'cleanup.policy': 'delete',
    'retention.ms': '-1',
    'retention.bytes': '-1',
  });
});

test('a compacted topic on three brokers bears the loss of one', () => {
  expect(
    topicShapeOf({ name: 'rules', keep: 'compacted', maxBytes: 99 }, { partitions: 3, replicas: 3 }).config,
  ).toEqual({
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': '0.1',
    'segment.ms': '3600000',
    'delete.retention.ms': '86400000',
    'max.compaction.lag.ms': '86400000',
    'message.timestamp.type': 'LogAppendTime',
    'compression.type': 'uncompressed',
    'max.message.bytes': '99',
    'min.insync.replicas': '2',
  });
});

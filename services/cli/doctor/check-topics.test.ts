import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTopic, type Topic } from '../../../schemas/define.ts';
import type { TopicInspection } from '../../../shared/runtime/bus.ts';
import { topicShapeOf } from '../../../shared/topic-config.ts';
import { checkReplicas, checkSchemas, checkTopicSettings, checkTopics } from './check-topics.ts';

const topicNamed = (name: string, more: Partial<Topic> = {}): Topic =>
  defineTopic({ name, summary: 'x', value: z.unknown(), key: () => 'k', keep: { days: 7 }, example: {}, ...more });
const [facts, rules] = [topicNamed('facts'), topicNamed('rules', { keep: 'compacted', maxBytes: 2_000_000 })];
const topics = [facts, rules];
const deployment = { partitions: 12, replicas: 1 };

const asDeclared = (topic: Topic, more: Partial<TopicInspection> = {}): TopicInspection => ({
  partitions: 12,
  replicas: 1,
  inSync: 1,
  leaderless: 0,
  // Brokers tell of much that nobody declared.
  config: { ...topicShapeOf(topic, deployment).config, 'flush.ms': '9223372036854775807' },
  ...more,
});
const inspected = (entries: Readonly<Record<string, TopicInspection>>, brokers = 1) => ({
  brokers,
  topics: new Map(Object.entries(entries)),
});
const whole = inspected({ facts: asDeclared(facts), rules: asDeclared(rules) });

test('topics that are as declared are well', () => {
  expect([
    checkTopics(topics, deployment, whole),
    checkTopicSettings(topics, deployment, whole),
    checkReplicas(deployment, whole),
  ]).toEqual([
    { name: 'topics', status: 'ok', summary: '2 of 12 partitions each', details: [] },
    { name: 'topic settings', status: 'ok', summary: 'as declared', details: [] },
    { name: 'copies', status: 'ok', summary: 'one of each record; 3 in production', details: [] },
  ]);
});

test('a topic that is missing and one of another size are told, each with its fix', () => {
  expect(checkTopics(topics, deployment, inspected({ rules: asDeclared(rules, { partitions: 3 }) }))).toEqual({
    name: 'topics',
    status: 'failed',
    summary: '2 of 2 are not as they should be',
    details: ['facts does not exist', 'rules has 3 partitions, and SIGNALBOX_PARTITIONS is 12'],
    fix: 'Run `signalbox migrate`.\nSet SIGNALBOX_PARTITIONS to the number that exists; growing needs a rebuild.',
  });
});

test('a setting on which the stages rely is broken, one that keeps more or less is doubtful', () => {
  const drifted = (config: Readonly<Record<string, string>>) =>
    inspected({
      facts: asDeclared(facts),
      rules: asDeclared(rules, { config: { ...asDeclared(rules).config, ...config } }),
    });
  const of = (config: Readonly<Record<string, string>>) => checkTopicSettings(topics, deployment, drifted(config));
  expect(of({ 'cleanup.policy': 'delete' })).toEqual({
    name: 'topic settings',
    status: 'failed',
    summary: '1 setting other than declared',
    details: ['rules: cleanup.policy is delete, declared is compact'],
    fix: 'kafka-configs.sh --bootstrap-server … --alter --entity-type topics --entity-name rules --add-config cleanup.policy=compact',
  });
  expect(of({ 'message.timestamp.type': 'CreateTime' }).status).toBe('failed');
  expect(of({ 'max.message.bytes': '1000000' }).status).toBe('failed');
  expect(of({ 'max.message.bytes': '3000000' }).status).toBe('warning');
  expect(of({ 'segment.ms': '1000' })).toMatchObject({
    status: 'warning',
    details: ['rules: segment.ms is 1000, declared is 3600000'],
  });
  expect(of({ 'segment.ms': '1', 'compression.type': 'zstd' })).toMatchObject({
    status: 'failed',
    summary: '2 settings other than declared',
  });
});

test('copies that are away are doubtful, a partition that nobody leads is broken', () => {
  const three = { partitions: 12, replicas: 3 };
  const of = (more: Partial<TopicInspection>, brokers = 3) =>
    checkReplicas(three, inspected({ facts: asDeclared(facts, { replicas: 3, inSync: 3, ...more }) }, brokers));
  expect(of({})).toMatchObject({ status: 'ok', summary: '3 of each record, all in sync' });
  expect(of({ inSync: 2 })).toMatchObject({
    status: 'warning',
    details: ['facts: a partition has 2 of 3 copies in sync'],
  });
  expect(of({ replicas: 1, inSync: 1 })).toMatchObject({
    status: 'warning',
    details: ['facts: copies of each record: 1, and SIGNALBOX_REPLICAS is 3'],
  });
  expect(of({ leaderless: 2, inSync: 0 })).toMatchObject({
    status: 'failed',
    details: ['facts: 2 partitions without a leader'],
  });
  expect(of({}, 1)).toMatchObject({ status: 'failed', details: ['SIGNALBOX_REPLICAS is 3, and there is 1 broker'] });
});

test('a schema that is not registered is told, and whether it could be', () => {
  expect(checkSchemas([{ topic: 'facts', state: 'registered' }])).toMatchObject({
    status: 'ok',
    summary: '1 registered',
  });
  expect(
    checkSchemas([
      { topic: 'facts', state: 'absent' },
      { topic: 'rules', state: 'incompatible' },
      { topic: 'letters', state: 'registered' },
    ]),
  ).toEqual({
    name: 'schemas',
    status: 'failed',
    summary: '2 of 3 are not registered',
    details: ['facts: not registered', 'rules: not registered, and breaks readers of older records'],
    fix: 'Run `signalbox migrate`.\nChange topics by addition only; anything else is a new topic.',
  });
});

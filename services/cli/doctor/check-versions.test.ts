import { expect, test } from 'vitest';
import { checkKafka, checkNode, checkRedis } from './check-versions.ts';

test('a Node and a Redis that are new enough are well, older ones are not', () => {
  expect(
    [checkNode('24.1.0'), checkNode('26.0.0'), checkRedis({ version: '7.0.15' })].map(({ status }) => status),
  ).toEqual(['ok', 'ok', 'ok']);
  expect(checkNode('22.9.0')).toMatchObject({ status: 'failed', summary: '22.9.0, and 24 is needed' });
  expect(checkRedis({ version: '6.2.1' })).toMatchObject({ status: 'failed', summary: '6.2.1, and 7 is needed' });
});

test('each request needs a version that both sides know', () => {
  const made = { min: 0, max: 7 };
  const requests = [
    { name: 'Produce', made, taken: { min: 3, max: 11 } },
    { name: 'Fetch', made, taken: { min: 7, max: 7 } },
  ];
  expect(checkKafka({ brokers: 1, requests })).toEqual({
    name: 'kafka',
    status: 'ok',
    summary: '1 broker, 2 kinds of request understood',
    details: [],
  });
  const refused = [
    { name: 'JoinGroup', made, taken: { min: 8, max: 9 } },
    { name: 'Heartbeat', made: { min: 2, max: 3 }, taken: { min: 0, max: 1 } },
    { name: 'SyncGroup', made, taken: undefined },
  ];
  expect(checkKafka({ brokers: 3, requests: [...requests, ...refused] })).toEqual({
    name: 'kafka',
    status: 'failed',
    summary: 'the brokers do not take 3 kinds of request',
    details: [
      'JoinGroup: made in versions 0 to 7, taken in 8 to 9',
      'Heartbeat: made in versions 2 to 3, taken in 0 to 1',
      'SyncGroup: made in versions 0 to 7, not taken by all brokers',
    ],
    fix: 'Use brokers of Kafka 2.4 to 4.x, all of one version.',
  });
});

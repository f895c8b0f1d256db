import { expect, test } from 'vitest';
import { topics } from '../../../schemas/index.ts';
import { BusError } from '../../../shared/errors.ts';
import { providers } from '../../../shared/providers/index.ts';
import { KeyRing } from '../../../shared/sealing.ts';
import { topicShapeOf } from '../../../shared/topic-config.ts';
import { coloured, plain } from '../style.ts';
import { diagnose } from './diagnose.ts';
import type { Installation } from './installation.ts';
import { diagnosisText } from './show.ts';

const product = { topics, providers };
const deployment = {
  partitions: 2,
  replicas: 1,
  secretKeys: KeyRing.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`),
};
const answered = <T>(value: T) => ({ type: 'answered' as const, value });
const still = { bounds: [{ start: 0n, end: 4n }], committed: [4n] };
const healthy: Installation = {
  now: 0,
  node: '24.21.0',
  deployment,
  bus: answered({
    brokers: 1,
    requests: [],
    topics: new Map(
      topics.map((topic) => {
        const { config } = topicShapeOf(topic, deployment);
        return [topic.name, { partitions: 2, replicas: 1, inSync: 1, leaderless: 0, config }];
      }),
    ),
    groupMembers: new Map(),
  }),
  store: answered({
    version: '7.2.0',
    evictionPolicy: 'noeviction',
    appendOnly: true,
    appendsWell: true,
    usedBytes: 0,
    maxBytes: 0,
    at: 0,
    aheadMs: 3,
  }),
  schemas: answered(topics.map(({ name }) => ({ topic: name, state: 'registered' }))),
  connections: answered({ rows: [], problems: [] }),
  states: answered({ rows: [], problems: [] }),
  bindings: answered({ rows: [], problems: [] }),
  groups: answered([{ stage: 'filter', members: 1, first: still, second: still }]),
  needs: answered([]),
  future: answered([]),
  letters: answered({ letters: [], more: false }),
};
const names = (installation: Installation) =>
  diagnose(installation, product).groups.flatMap(({ checks }) => checks.map(({ name }) => name));

test('of brokers that take too little, only that is said', () => {
  const refused = [{ name: 'Metadata', made: { min: 0, max: 6 }, taken: { min: 7, max: 13 } }];
  const bus = answered({ brokers: 1, requests: refused, topics: new Map(), groupMembers: new Map() });
  const found = diagnose({ ...healthy, bus }, product).groups.flatMap(({ checks }) => checks);
  expect(found.filter(({ status }) => status !== 'ok').map(({ name }) => name)).toEqual(['kafka']);
});

test('an installation in which all is well has a line for each check and nothing to do', () => {
  const text = diagnosisText(diagnose(healthy, product), plain);
  expect(text.split('\n').filter((line) => /^ {2}\S/.test(line) && !line.startsWith('  ✔ '))).toEqual([]);
  expect(names(healthy)).toEqual([
    ...['node', 'kafka', 'redis', 'registry'],
    ...['topics', 'topic settings', 'copies', 'schemas'],
    ...['eviction', 'persistence', 'memory'],
    ...['keys', 'connections', 'bindings'],
    ...['filter', 'needed records'],
    ...['clocks', 'dead letters'],
  ]);
  expect([text.includes('→'), text.endsWith('\nAll is well.')]).toEqual([false, true]);
});

test('what is away is told once, and what stands on it not at all', () => {
  const error = new BusError('infrastructure-unavailable', { system: 'kafka' });
  const away: Installation = {
    ...healthy,
    bus: { type: 'failed', error },
    connections: undefined,
    states: undefined,
    bindings: undefined,
    groups: undefined,
    needs: undefined,
    future: undefined,
    letters: undefined,
  };
  const diagnosis = diagnose(away, product);
  expect(names(away)).toEqual([
    ...['node', 'kafka', 'redis', 'registry', 'schemas', 'eviction', 'persistence', 'memory', 'keys'],
  ]);
  expect([diagnosis.result, diagnosis.groups[0]?.checks[1]]).toEqual([
    'failed',
    {
      name: 'kafka',
      status: 'failed',
      summary: 'infrastructure-unavailable',
      details: ['Kafka, Redis or the schema registry did not answer.', 'system: kafka'],
      fix: 'Check that they run and that the settings point at them.',
    },
  ]);
});

test('the gravest check is the result, and each that is not well is followed by what to do', () => {
  const letters = answered({ letters: [{ stage: 'filter', code: 'stage-fault' }], more: false });
  expect(diagnose({ ...healthy, letters }, product).result).toBe('warning');
  const diagnosis = diagnose({ ...healthy, letters, node: '20.0.0' }, product);
  const lines = diagnosisText(diagnosis, plain).split('\n');
  expect([diagnosis.result, lines.slice(0, 4), lines.at(-1)]).toEqual([
    'failed',
    [
      'Versions',
      '  ✘ node            20.0.0, and 24 is needed',
      '    → Run `npm ci`: it installs the right one beside the sources.',
      '  ✔ kafka           1 broker, 0 kinds of request understood',
    ],
    '1 broken, 1 worth a look.',
  ]);
});

test('many details end in a count, and a terminal gets colours', () => {
  const absent = answered(
    topics.flatMap(({ name }) => ['a', 'b'].map((end) => ({ topic: name + end, state: 'absent' as const }))),
  );
  const lines = diagnosisText(diagnose({ ...healthy, schemas: absent }, product), coloured).split('\n');
  expect(lines.some((line) => line.includes(`and ${topics.length * 2 - 12} more, in --json`))).toBe(true);
  expect(lines.at(-1)).toBe(`${coloured.red('1 broken')}.`);
});

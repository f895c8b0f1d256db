import { expect, test } from 'vitest';
import { Binding, bindings } from '../../../schemas/binding.ts';
import { stages } from '../../index.ts';
import { createTestWorld } from '../test-world.ts';

const environment = {
  KAFKA_BROKERS: 'memory:9092',
  REDIS_URL: 'redis://memory',
  SCHEMA_REGISTRY_URL: 'http://memory',
  SIGNALBOX_PARTITIONS: '3',
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const doctor = ['doctor', '--watch', '0'] as const;

test('a whole installation is well, from its topics to the group of every stage', async () => {
  const world = createTestWorld(environment, 'secret itself');
  await world.run('migrate');
  await world.run('connections', 'put', 'octo', '--provider', 'github', '--secret', 'webhookSecret=-');
  await world.run('bindings', 'put', 'iris', 'desk', '--connection', 'octo', '--filter', 'true');
  await world.start(...stages.keys());
  const { code, out, notes } = await world.run(...doctor);
  await world.stop();
  expect([code, notes]).toEqual([0, '']);
  expect(out.split('\n').filter((line) => /✘|▲|→/.test(line))).toEqual([]);
  expect(out).toContain('✔ connections       1, their secrets open');
  expect(out).toMatch(/\nAll is well\.$/);
});

test('before a migration two checks are broken, and the exit code is 1', async () => {
  const world = createTestWorld(environment);
  const { code, out } = await world.run(...doctor);
  expect([code, out.split('\n').filter((line) => line.includes('✘'))]).toEqual([
    1,
    [expect.stringContaining('✘ topics'), expect.stringContaining('✘ schemas')],
  ]);
  expect(out).toContain('→ Run `signalbox migrate`.');
  expect((await world.run(...doctor, '--json')).code).toBe(1);
});

test('what is only worth a look does not fail, and is there as data', async () => {
  const world = createTestWorld(environment);
  await world.run('migrate');
  expect(await world.json(...doctor)).toMatchObject({
    result: 'warning',
    groups: expect.arrayContaining([
      {
        title: 'Stages',
        checks: expect.arrayContaining([
          {
            name: 'filter',
            status: 'warning',
            summary: 'nobody runs it',
            details: [],
            fix: 'Start it: `signalbox run filter`.',
          },
        ]),
      },
    ]),
  });
});

test('a binding to nothing and records that nobody handles are broken', async () => {
  const world = createTestWorld(environment);
  await world.run('migrate');
  await world.publish(bindings, Binding.parse({ ...bindings.example, connectionId: 'gone' }));
  await world.receiveBytes(1, Buffer.from('no frame'));
  const before = await world.run(...doctor);
  expect(before.out).toContain('iris/desk: its connection gone does not exist');
  expect(before.out).toContain('✘ normalizer        nobody runs it, and 1 record waits');
  await world.start('normalizer');
  // It commits now and then, not at once.
  await expect
    .poll(async () => (await world.run(...doctor)).out)
    .toContain('✔ normalizer        1 member, nothing waits');
  const after = await world.run(...doctor);
  await world.stop();
  expect(after.out).toContain('1 × normalizer frame-invalid: ');
  expect(after.out).toContain('▲ dead letters      1 record in the last hour');
});

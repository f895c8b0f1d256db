import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import { parseHeader } from '../../shared/runtime/header.ts';
import { performCall } from '../../shared/runtime/perform-call.ts';
import { groupOf, type RunningStage } from '../../shared/runtime/run-stage.ts';
import { type Ask, asks, counted } from '../../shared/testing/counting-stage.ts';
import { type CountingPipeline, countingPipeline, exactly, partitionOfKey, partitions } from './counting-pipeline.ts';

const patience = { timeout: 30_000, interval: 50 };
const count = (key: string): Ask => ({ type: 'count', key, emit: 1 });
/** Keys that no other test has, spread over all partitions. */
const keysOf = (name: string, length = 12) => {
  const run = randomUUID().slice(0, 8);
  return Array.from({ length }, (_, index) => `${name}-${run}-${index}`);
};

let pipeline: CountingPipeline;
const started: RunningStage[] = [];
beforeAll(async () => {
  pipeline = await countingPipeline(inject('infrastructure'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop()));
});
afterAll(() => pipeline.close());

const run = async (options: Parameters<CountingPipeline['run']>[0] = {}) => {
  const running = await pipeline.run(options);
  started.push(running);
  return running;
};
const told = async (key: string) =>
  (await pipeline.firsts(counted)).flatMap(({ value }) => (value.key === key ? [value.count] : []));
const settled = (keys: readonly string[]) =>
  vi.waitFor(async () => {
    const tallies = await pipeline.tally(keys);
    expect(tallies).toEqual(exactly(tallies));
    return tallies;
  }, patience);

test('counts what was asked before it came and after, once and in order, across copies that come and go', async ({
  annotate,
}) => {
  const keys = keysOf('work');
  await pipeline.ask(...keys.map(count), ...keys.map(count));
  const first = await run();
  await settled(keys);

  const second = await run();
  await vi.waitFor(() => {
    expect([first, second].map((each) => each.health().partitions.length)).toEqual([2, 2]);
  }, patience);
  const load = pipeline.askOverAndOver(keys);
  await vi.waitFor(async () => expect((await told(keys[0] ?? '')).length).toBeGreaterThan(20), patience);
  const left = performance.now();
  await second.stop();
  await vi.waitFor(() => expect(first.health().partitions).toHaveLength(partitions), patience);
  const ms = Math.round(performance.now() - left);
  await annotate(`a copy that left was replaced after ${ms} ms`);
  expect(ms).toBeLessThan(10_000);
  await load.end();
  const tallies = await settled(keys);
  expect(tallies.every(({ asked }) => asked > 20)).toBe(true);
});

test('timers come back when they are due, and not those that were taken back', async () => {
  const [due = '', calmed = ''] = keysOf('timer', 2);
  const remind = (key: string): Ask => ({ type: 'remind', key, inMs: 800 });
  await run();
  const asked = Date.now();
  await pipeline.ask(remind(due), remind(calmed), { type: 'calm', key: calmed });
  await vi.waitFor(async () => expect(await told(due)).toEqual([1]), patience);
  expect(Date.now() - asked).toBeGreaterThanOrEqual(700);
  expect([await told(calmed), await pipeline.count(due)]).toEqual([[], 1]);
  const { redis } = pipeline;
  const pending = (key: string) => redis.hexists(`sb:1:{counting:${partitionOfKey(key)}}:timers`, `reminder:${key}`);
  await vi.waitFor(async () => expect([await pending(due), await pending(calmed)]).toEqual([0, 0]), patience);
});

test('a provider is called once, after the offset is committed, and its answer is handled', async () => {
  const keys = keysOf('call', 3);
  const calls: { readonly key: string; readonly committed: bigint | undefined }[] = [];
  const server = createServer(async ({ url = '' }, response) => {
    const key = url.slice(1);
    const committed = (await pipeline.bus.committed(groupOf('counting'), 'asks'))[partitionOfKey(key)];
    calls.push({ key, committed });
    response.writeHead(202).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');
  const here = `http://127.0.0.1:${address.port}`;
  await run({
    perform: (request) => performCall({ ...request, url: request.url.replace('http://provider.example', here) }),
  });
  await pipeline.ask(...keys.map((key): Ask => ({ type: 'call', key })));
  await vi.waitFor(async () => expect(await Promise.all(keys.map(told))).toEqual([[202], [202], [202]]), patience);
  const askedAt = new Map(
    (await pipeline.firsts(asks)).flatMap(({ value, record }) =>
      value.type === 'call' ? [[value.key, record.offset] as const] : [],
    ),
  );
  expect(calls.map(({ key }) => key).toSorted()).toEqual(keys);
  for (const { key, committed = 0n } of calls) expect(committed).toBeGreaterThan(askedAt.get(key) ?? committed);
  server.close();
});

test('what cannot be read goes to the dead letters, byte for byte, with a decision, and what follows is counted', async () => {
  const [key = ''] = keysOf('poison', 1);
  const partition = partitionOfKey(key);
  const frame = pipeline.codec.encode(asks, count(key));
  const framed = (json: string, id = frame.readInt32BE(1)) => {
    const head = Buffer.alloc(5);
    head.writeInt32BE(id, 1);
    return Buffer.concat([head, Buffer.from(json)]);
  };
  const poison: readonly (readonly [string, Buffer | null])[] = [
    ['frame-invalid', null],
    ['frame-invalid', Buffer.from([0, 1, 2])],
    ['frame-invalid', Buffer.from('{"type":"count"}')],
    ['frame-invalid', framed('{"type":')],
    ['contract-violated', framed('{"type":"count","key":7}')],
    ['schema-unknown', framed('{}', 987_654_321)],
    ['stage-fault', pipeline.codec.encode(asks, { type: 'throw', key })],
    ['payload-invalid', pipeline.codec.encode(asks, { type: 'reject', key })],
    ['output-too-large', pipeline.codec.encode(asks, { type: 'bloat', key, bytes: 1_100_000 })],
  ];
  await run();
  await pipeline.sender.send(
    poison.map(([, value]) => ({ topic: 'asks', partition, key: Buffer.from(key), value, header: '1 root cause' })),
  );
  await pipeline.ask(count(key));
  await vi.waitFor(async () => expect(await told(key)).toEqual([1]), patience);

  const mine = Buffer.from(key).toString('base64');
  const letters = (await pipeline.firsts(deadLetters)).map(({ value }) => value).filter((each) => each.key === mine);
  expect(
    letters.map(({ code, value, header, partition: from, stage }) => ({ code, value, header, from, stage })),
  ).toEqual(
    poison.map(([code, value]) => ({
      code,
      value: value === null ? undefined : value.toString('base64'),
      header: '1 root cause',
      from: partition,
      stage: 'counting',
    })),
  );
  const places = letters.map(({ offset }) => `asks/${partition}/${offset}`);
  const decided = (await pipeline.firsts(decisions)).flatMap(({ value }) =>
    places.includes(value.from ?? '') ? [[value.status, value.reason, value.rootId]] : [],
  );
  expect(decided).toEqual(poison.map(([code]) => ['dead_letter', code, 'root']));
});

test('its state lies in Redis under the documented keys: fence, watermarks, rows and timers', async () => {
  const [key = '', other = ''] = keysOf('keys', 200).filter(
    (each, _, all) => partitionOfKey(each) === partitionOfKey(all[0] ?? ''),
  );
  const partition = partitionOfKey(key);
  const prefix = `sb:1:{counting:${partition}}`;
  await run();
  await pipeline.sender.send([
    {
      topic: 'asks',
      partition,
      key: Buffer.from(key),
      value: pipeline.codec.encode(asks, count(key)),
      header: `1 root cause f=upstream%2F3%2F${Date.now()}%2F0`,
    },
  ]);
  await pipeline.ask({ type: 'remind', key: other, inMs: 3_600_000 });
  const { redis } = pipeline;
  await vi.waitFor(async () => expect(await redis.hexists(`${prefix}:timers`, `reminder:${other}`)).toBe(1), patience);

  const last = (await pipeline.firsts(asks)).filter(({ value }) => value.key === other).at(-1)?.record;
  expect(await redis.hgetall(`${prefix}:position`)).toEqual({ fence: String(last?.offset), at: String(last?.at) });
  expect(JSON.parse((await redis.hget(`${prefix}:watermarks`, 'upstream/3')) ?? '')).toEqual({
    offset: expect.stringMatching(/^\d{13}$/),
    effects: ['0'],
  });
  expect(await redis.get(`${prefix}:counts:${key}`)).toBe('{"v":{"count":1}}');
  expect(await redis.zscore(`${prefix}:due-times`, `reminder:${other}`)).toBe(String((last?.at ?? 0) + 3_600_000));
  const origin = (await pipeline.firsts(counted)).find(({ value }) => value.key === key)?.record.header;
  expect(parseHeader(origin)).toMatchObject({ rootId: 'root', from: { topic: 'asks', partition, effect: '1' } });
});

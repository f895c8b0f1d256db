import { expect, test } from 'vitest';
import type { CallAnswer } from '../../stage/effects.ts';
import { type Ask, asks, counted, counting } from '../../testing/counting-stage.ts';
import { type CountingProcess, countingWorld, runtimeWith } from '../../testing/counting-world.ts';
import { runUntil, settle } from '../../testing/settle.ts';
import { silentLog } from '../log.ts';
import { allGuards, openPartition } from '../partition-owner.ts';
import { runStage } from '../run-stage.ts';
import type { Store } from '../store.ts';
import type { Span } from './span.ts';
import { formatTraceparent, parseTraceparent, spanIdOf, type TraceContext } from './trace-context.ts';
import { createTracing, type StageTracing } from './tracing.ts';

const rootId = '01a23183-877d-786f-af2e-1e6b967c88b0';
const traceId = '01a23183877d786faf2e1e6b967c88b0';
const from: TraceContext = { traceId, spanId: 'b7ad6b7169203331', sampled: true };
/** Where the counting stage stands with the record at an offset. */
const at = (offset: number): TraceContext => ({ ...from, spanId: spanIdOf(traceId, `counting 0 ${offset}`) });
const count = (emit: number): Ask => ({ type: 'count', key: 'a', emit });

/** The counting stage in memory and the spans that it tells. */
async function tracedStage(share = 1) {
  const world = await countingWorld();
  const { simulation } = world;
  const outside = await world.start('outside');
  const spans: Span[] = [];

  const tracingFor = ({ clock }: CountingProcess): StageTracing => {
    const sink = { add: (span: Span) => void spans.push(span), close: async () => undefined };
    return createTracing({ sink, share, clock }).stage(counting);
  };

  return {
    ...world,
    spans,
    async ask(value: Ask | Buffer, traceparent?: string) {
      const record = {
        topic: 'asks',
        partition: 0,
        key: null,
        value: Buffer.isBuffer(value) ? value : outside.codec.encode(asks, value),
        ...(traceparent !== undefined && { traceparent }),
      };
      await settle(simulation, outside.bus.produce([record]));
    },
    /** Has an owner handle all that there is. */
    async handle(options: { readonly committed?: bigint; readonly save?: Store['save']; readonly off?: boolean } = {}) {
      const mine = await world.start();
      const context = {
        stage: counting,
        settings: {},
        tables: {},
        ...mine,
        store: { ...mine.store, ...(options.save !== undefined && { save: options.save }) },
        runtime: runtimeWith({}),
        partitionsOf: () => 1,
        guards: allGuards,
        tracing: options.off === true ? undefined : tracingFor(mine),
        onFolded: () => undefined,
        onCalls: async () => undefined,
      };
      const log = { committed: options.committed ?? 0n, start: 0n };
      const open = await settle(simulation, openPartition(context, world.slot(), log));
      return settle(simulation, open.handle(world.asked()));
    },
    /** The `traceparent` of each record of a topic. */
    traceparents: (topic: string) => (simulation.records(topic)[0] ?? []).map(({ traceparent }) => traceparent),
    tracingFor,
  };
}

test('a record has one span below the one that it names, from its append until its batch was saved', async () => {
  const world = await tracedStage();
  await world.ask(count(2), formatTraceparent(from));
  const [appended] = world.asked();
  await world.handle();
  const savedAt = world.simulation.now();
  expect(world.traceparents('counted')).toEqual([formatTraceparent(at(0)), formatTraceparent(at(0))]);
  expect(world.spans).toEqual([
    {
      service: 'counting',
      kind: 'consumer',
      name: 'process asks',
      context: at(0),
      parent: from,
      startAt: appended?.at,
      endAt: savedAt,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'process',
        'messaging.operation.name': 'process',
        'messaging.consumer.group.name': 'signalbox.counting',
        'messaging.destination.name': 'asks',
        'messaging.destination.partition.id': '0',
        'messaging.kafka.offset': 0,
        'signalbox.stage': 'counting',
        'signalbox.root_id': 'asks/0/0',
      },
      events: [{ name: 'taken up', at: expect.any(Number) }],
      error: undefined,
    },
  ]);
  const [takenUp] = world.spans.flatMap(({ events }) => events ?? []);
  expect(takenUp?.at).toBeGreaterThanOrEqual(appended?.at ?? Number.NaN);
  expect(takenUp?.at).toBeLessThanOrEqual(savedAt);
});

test('how a record ended is told by status and code, not by what it held', async () => {
  const world = await tracedStage();
  for (const value of [
    { type: 'finish', key: 'a' },
    { type: 'reject', key: 'swordfish' },
    { type: 'reject', key: 'a', part: 'swordfish' },
    { type: 'throw', key: 'a' },
  ] as const) {
    await world.ask(value, formatTraceparent(from));
  }
  await world.ask(Buffer.from('swordfish'), formatTraceparent(from));
  await world.handle();
  const ends = world.spans.map(({ attributes, error }) => [
    attributes['signalbox.outcomes'],
    attributes['signalbox.reject_codes'],
    error,
  ]);
  expect(ends).toEqual([
    [['recorded'], undefined, undefined],
    [undefined, ['payload-invalid'], 'payload-invalid'],
    [undefined, ['payload-invalid'], 'payload-invalid'],
    [undefined, ['stage-fault'], 'stage-fault'],
    [undefined, ['frame-invalid'], 'frame-invalid'],
  ]);
  expect(JSON.stringify(world.spans)).not.toContain('swordfish');
  expect(world.traceparents('dead-letters')).toEqual([1, 2, 3, 4].map((offset) => formatTraceparent(at(offset))));
});

test('a record without a traceparent, or with a strange one, goes into the trace of its root fact', async () => {
  const world = await tracedStage();
  await world.askWith({ rootId, causeId: rootId }, count(1));
  await world.ask(count(1), 'swordfish');
  await world.handle();
  expect(world.spans.map(({ context, parent }) => ({ context, parent }))).toEqual([
    { context: at(0), parent: undefined },
    {
      context: { traceId: expect.stringMatching(/^[0-9a-f]{32}$/), spanId: expect.any(String), sampled: true },
      parent: undefined,
    },
  ]);
  expect(world.traceparents('counted').map((text) => parseTraceparent(text))).toEqual(
    world.spans.map(({ context }) => context),
  );
});

test('what is not recorded is told to nobody, and those who come after hear that', async () => {
  const world = await tracedStage(0);
  await world.ask(count(1), formatTraceparent({ ...from, sampled: false }));
  await world.askWith({ rootId, causeId: rootId }, count(1));
  await world.ask(count(1), formatTraceparent(from));
  await world.handle();
  expect(world.traceparents('counted').map((text) => parseTraceparent(text)?.sampled)).toEqual([false, false, true]);
  expect(world.spans.map(({ context }) => context)).toEqual([at(2)]);
});

test('a repeat after a crash has the ids that it had, and is told once', async () => {
  const world = await tracedStage();
  await world.ask(count(1), formatTraceparent(from));
  const crash = world.handle({ save: () => Promise.reject(new Error('the process died')) });
  await expect(crash).rejects.toThrow('the process died');
  expect(world.spans).toEqual([]);
  await world.handle();
  expect(world.traceparents('counted')).toEqual([formatTraceparent(at(0)), formatTraceparent(at(0))]);
  expect(world.spans.map(({ context }) => context)).toEqual([at(0)]);
});

test('a repeat that a watermark drops and a silent refold have no spans', async () => {
  const world = await tracedStage();
  const source = { topic: 'upstream', partition: 0, offset: 7n, effect: '0' };
  await world.askWith({ rootId, causeId: rootId, from: source }, count(1));
  await world.askWith({ rootId, causeId: rootId, from: source }, count(1));
  await world.askWith({ rootId, causeId: rootId, from: { ...source, offset: 8n } }, count(1));
  await world.handle({ committed: 1n });
  expect(world.spans.map(({ context }) => context)).toEqual([at(2)]);
  expect(world.traceparents('counted')).toEqual([formatTraceparent(at(2))]);
});

test('while tracing is off nothing begins, and a traceparent that came is passed on, but no other text', async () => {
  const world = await tracedStage();
  await world.ask(count(1));
  await world.ask(count(1), formatTraceparent(from));
  // Added to outputs, it would make them larger than their topic takes, and stop the partition.
  await world.ask(count(1), 'x'.repeat(1_000_000));
  await world.handle({ off: true });
  expect(world.traceparents('counted')).toEqual([undefined, formatTraceparent(from), undefined]);
});

test.each<[string, CallAnswer, Readonly<Record<string, unknown>>]>([
  ['an answer', { status: 204, headers: {}, body: '' }, { status: 204, error: undefined }],
  ['a refusal', { status: 403, headers: {}, body: 'swordfish' }, { status: 403, error: '403' }],
  ['silence', { headers: {}, body: '', failure: 'TimeoutError' }, { status: undefined, error: 'TimeoutError' }],
])(
  'a provider call that ends in %s has a span of its own, and its answer comes back below it',
  async (_, answer, end) => {
    const world = await tracedStage();
    const mine = await world.start();
    const { simulation } = world;
    const starting = runStage({
      stage: counting,
      settings: {},
      ...mine,
      runtime: runtimeWith({}),
      perform: async () => answer,
      log: silentLog,
      observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
      tracing: world.tracingFor(mine),
    });
    const running = await settle(simulation, starting);
    await world.ask({ type: 'call', key: 'swordfish' }, formatTraceparent(from));
    await runUntil(simulation, () => world.values(counted).length === 1 && world.spans.length === 3);
    await settle(simulation, running.stop());

    const called = { ...from, spanId: spanIdOf(traceId, 'call asks/0/0.1') };
    const [asked, call, answered] = world.spans;
    expect([asked?.context, answered?.context, answered?.parent]).toEqual([at(0), at(1), called]);
    expect(call).toEqual({
      service: 'counting',
      kind: 'client',
      name: 'GET',
      context: called,
      parent: at(0),
      startAt: expect.any(Number),
      endAt: expect.any(Number),
      attributes: {
        'http.request.method': 'GET',
        'server.address': 'provider.example',
        ...(end.status !== undefined && { 'http.response.status_code': end.status }),
        'signalbox.stage': 'counting',
        'signalbox.root_id': 'asks/0/0',
      },
      error: end.error,
    });
    expect(JSON.stringify(world.spans)).not.toContain('swordfish');
  },
);

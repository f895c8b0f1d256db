import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BusError } from '../errors.ts';
import { settle } from '../testing/settle.ts';
import type { Bus, OutgoingRecord } from './bus.ts';
import { createSimulation } from './memory/simulation.ts';
import { createSender, recordBytes, type Sender } from './sender.ts';

const unavailable = new BusError('infrastructure-unavailable', { reason: 'as the test wants it' });
const tooLarge = new BusError('record-too-large', { operation: 'produce' });

/** A record of `bytes` bytes that can be told from all others. */
const recordOf = (text: string, { topic = 't', partition = 0, bytes = 100 } = {}): OutgoingRecord => {
  const record = { topic, partition, key: null, value: Buffer.from(text) };
  return { ...record, value: Buffer.from(text.padEnd(text.length + bytes - recordBytes(record))) };
};
const textOf = (record: { readonly value: Buffer | null }): string => String(record.value).trimEnd();

/** What becomes of the nth request, counted from 0; undefined lets it through. */
type Fate = (request: readonly OutgoingRecord[], number: number) => Error | undefined;

/** A sender over the log in memory, and what it asked of the log. */
function senderOver(
  options: {
    readonly maxRequestBytes?: number;
    readonly fate?: Fate;
    readonly seed?: number;
    readonly onRetry?: (error: BusError, times: number) => void;
  } = {},
) {
  const simulation = createSimulation({ seed: options.seed ?? 1 });
  simulation.createTopics([
    { name: 't', partitions: 3 },
    { name: 'u', partitions: 1 },
  ]);
  const { bus, clock } = simulation.process('sender');
  const requests: (readonly string[])[] = [];
  let inFlight = 0;
  let most = 0;
  const watched: Bus = {
    ...bus,
    async produce(records) {
      requests.push(records.map(textOf));
      most = Math.max(most, ++inFlight);
      const number = requests.length - 1;
      try {
        await bus.produce(options.fate?.(records, number) === undefined ? records : []);
        const failure = options.fate?.(records, number);
        if (failure !== undefined) throw failure;
      } finally {
        inFlight--;
      }
    },
  };
  const limits = { maxRequestBytes: () => options.maxRequestBytes ?? 10_000, retryMs: 10, inFlight: 1 as const };
  const sender = createSender({
    ...{ bus: watched, clock, limits },
    ...(options.onRetry !== undefined && { onRetry: options.onRetry }),
  });
  const logged = (topic = 't', partition = 0) => (simulation.records(topic)[partition] ?? []).map(textOf);
  return { simulation, sender, requests, logged, mostInFlight: () => most };
}

const outcomesOf = async (work: readonly Promise<void>[]) =>
  (await Promise.allSettled(work)).map((each) => (each.status === 'fulfilled' ? 'sent' : each.reason.code));

const sendAll = (sender: Sender, texts: readonly string[]) => texts.map((text) => sender.send([recordOf(text)]));

describe('gathering', () => {
  test('what comes in while a request is in flight leaves together, when it is answered', async () => {
    const { simulation, sender, requests, mostInFlight } = senderOver();
    const work = Promise.all([...sendAll(sender, ['a', 'b', 'c']), sender.send([])]);
    expect([requests, sender.pending()]).toEqual([[['a']], 3]);
    await settle(simulation, work);
    expect([requests, sender.pending(), mostInFlight()]).toEqual([[['a'], ['b', 'c']], 0, 1]);
  });

  test('a request takes what fits of each partition and stops at the first that is full, so that nothing overtakes', async () => {
    const { simulation, sender, requests } = senderOver({ maxRequestBytes: 200 });
    const other = { partition: 1 };
    await settle(
      simulation,
      Promise.all([
        sender.send([recordOf('a1'), recordOf('b1', other), recordOf('a2'), recordOf('b2', other), recordOf('a3')]),
        sender.send([recordOf('b3', other), recordOf('a4')]),
      ]),
    );
    expect(requests).toEqual([
      ['a1', 'b1', 'a2', 'b2'],
      ['a3', 'b3', 'a4'],
    ]);
  });

  test('a record over the bound leaves all the same, alone in its partition', async () => {
    const { simulation, sender, requests } = senderOver({ maxRequestBytes: 200 });
    await settle(simulation, sender.send([recordOf('a'), recordOf('big', { bytes: 900 }), recordOf('b')]));
    expect(requests).toEqual([['a'], ['big'], ['b']]);
  });

  test('a send is over when the last of its requests is answered, and not before', async () => {
    const { simulation, sender, logged } = senderOver({ maxRequestBytes: 100 });
    const whole = sender.send(['a', 'b', 'c'].map((text) => recordOf(text)));
    const atTheEnd = whole.then(() => logged());
    expect(await settle(simulation, atTheEnd)).toEqual(['a', 'b', 'c']);
  });
});

test('whatever is sent in whatever sizes comes once and in order, within the bound, with one request in flight', async () => {
  const size = fc.record({ bytes: fc.integer({ min: 100, max: 400 }), partition: fc.nat(2) });
  const jobs = fc.array(fc.array(size, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(jobs, fc.nat(), async (sizes, seed) => {
      const bound = 500;
      const tooMuch: string[] = [];
      const fate: Fate = (request) => {
        for (const [partition, part] of Map.groupBy(request, (record) => record.partition)) {
          const bytes = part.reduce((sum, record) => sum + recordBytes(record), 0);
          if (bytes > bound && part.length > 1) tooMuch.push(`${partition}: ${bytes}`);
        }
        return undefined;
      };
      const { simulation, sender, logged, mostInFlight } = senderOver({ maxRequestBytes: bound, seed, fate });
      const records = sizes.map((job, index) => job.map((each, inJob) => recordOf(`${index}.${inJob}`, each)));
      await settle(simulation, Promise.all(records.map((job) => sender.send(job))));
      const expected = [0, 1, 2].map((partition) =>
        records.flat().flatMap((record) => (record.partition === partition ? [textOf(record)] : [])),
      );
      expect([0, 1, 2].map((partition) => logged('t', partition))).toEqual(expected);
      expect([tooMuch, mostInFlight(), sender.pending()]).toEqual([[], 1, 0]);
    }),
    { numRuns: 60 },
  );
});

describe('a log that is out of reach', () => {
  test('gets the same request again until it answers, before the next one leaves', async () => {
    const { simulation, sender, requests, logged } = senderOver({
      fate: (_, number) => (number < 3 ? unavailable : undefined),
    });
    await settle(simulation, Promise.all(sendAll(sender, ['a', 'b', 'c'])));
    expect(requests).toEqual([['a'], ['a'], ['a'], ['a'], ['b', 'c']]);
    expect(logged()).toEqual(['a', 'b', 'c']);
  });

  test('is told of each time that it is asked again', async () => {
    const told: unknown[] = [];
    const { simulation, sender } = senderOver({
      fate: (_, number) => (number < 2 ? unavailable : undefined),
      onRetry: (error, times) => told.push([error, times]),
    });
    await settle(simulation, Promise.all(sendAll(sender, ['a', 'b'])));
    expect(told).toEqual([
      [unavailable, 1],
      [unavailable, 2],
    ]);
  });

  test('is asked again only after the wait that is set', async () => {
    const { simulation, sender, requests } = senderOver({
      fate: (_, number) => (number === 0 ? unavailable : undefined),
    });
    const from = simulation.now();
    await settle(simulation, sender.send([recordOf('a')]));
    expect([requests.length, simulation.now() - from >= 10]).toEqual([2, true]);
  });
});

describe('a request that the log refuses', () => {
  const refusing: Fate = (request) => (request.some((record) => textOf(record) === 'bad') ? tooLarge : undefined);

  test('rejects the send that it was made of, and that alone', async () => {
    const { simulation, sender, logged } = senderOver({ fate: refusing });
    const work = sendAll(sender, ['a', 'b', 'bad', 'c', 'd']);
    expect(await settle(simulation, outcomesOf(work))).toEqual(['sent', 'sent', 'record-too-large', 'sent', 'sent']);
    expect([logged(), sender.pending()]).toEqual([['a', 'b', 'c', 'd'], 0]);
  });

  test('leaves nothing behind of its send that would go out later', async () => {
    const { simulation, sender, logged } = senderOver({ fate: refusing, maxRequestBytes: 100 });
    const work = [
      sender.send([recordOf('a')]),
      sender.send(['b', 'bad', 'never'].map((text) => recordOf(text))),
      sender.send([recordOf('c')]),
    ];
    expect(await settle(simulation, outcomesOf(work))).toEqual(['sent', 'record-too-large', 'sent']);
    expect([logged(), sender.pending()]).toEqual([['a', 'b', 'c'], 0]);
  });

  test('is not the end: what comes after is sent, gathered as before', async () => {
    const { simulation, sender, requests } = senderOver({ fate: refusing });
    expect(await settle(simulation, outcomesOf(sendAll(sender, ['bad'])))).toEqual(['record-too-large']);
    await settle(simulation, Promise.all(sendAll(sender, ['a', 'b', 'c'])));
    expect(requests).toEqual([['bad'], ['a'], ['b', 'c']]);
  });
});

describe('a stop', () => {
  test('gives up what waits for a log that is away', async () => {
    const { simulation, sender, requests } = senderOver({ fate: () => unavailable });
    const work = outcomesOf(sendAll(sender, ['a', 'b']));
    await simulation.run({ until: () => requests.length > 3 });
    sender.stop();
    expect(await settle(simulation, work)).toEqual(['infrastructure-unavailable', 'infrastructure-unavailable']);
    expect(sender.pending()).toBe(0);
  });

  test('lets the request in flight be answered, and refuses what comes after', async () => {
    const { simulation, sender, logged } = senderOver();
    const work = outcomesOf(sendAll(sender, ['a']));
    sender.stop();
    expect(await settle(simulation, work)).toEqual(['sent']);
    expect(await settle(simulation, outcomesOf(sendAll(sender, ['b'])))).toEqual(['infrastructure-unavailable']);
    expect(logged()).toEqual(['a']);
  });
});

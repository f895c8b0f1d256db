import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { peakMemory } from '../bench/processes.ts';
import { createResults } from '../bench/results.ts';
import { createFleet } from '../chaos/fleet.ts';
import { connectOutside, type OutsideClient } from '../e2e/kafka.ts';
import { secretKeys } from '../e2e/routes.ts';
import { startStream } from '../e2e/stream.ts';
import { runTool, type Workplace } from '../harness/run-tool.ts';
import { settingsOf, signalboxJson, start } from '../integration/signalbox.ts';
import { compareMirror } from './compare.ts';
import { type AcceptedRecord, acceptedFacts, entryOf, freeNumbers, spread, steadyNumbers, written } from './facts.ts';
import { startReaders } from './reading.ts';

const count = (otherwise: number) => z.coerce.number().int().min(1).default(otherwise);
const { FACTS, RATE, READERS, COPIES, IMPATIENT } = z
  .object({
    FACTS: count(500_000).pipe(z.number().min(1_000)),
    RATE: count(100),
    READERS: count(4),
    COPIES: count(2),
    IMPATIENT: z.enum(['0', '1']).default('0'),
  })
  .parse(process.env);
const [topic, stage, partitions] = ['accepted-facts', 'mirror-projector', 12];
const [editedRows, steadyRows, atOnce] = [24, 200, 1_000];
const [lookMs, wordMs, patienceMs, aroundMs, mostProblems] = [250, 5_000, 600_000, 3_000, 20];

/** Publishes a load that is too large to be held. */
async function publishAll(client: OutsideClient, records: Iterable<AcceptedRecord>): Promise<void> {
  let chunk: AcceptedRecord[] = [];
  for (const record of records) {
    chunk.push(record);
    if (chunk.length < atOnce) continue;
    await client.publish(topic, chunk);
    chunk = [];
  }
  if (chunk.length > 0) await client.publish(topic, chunk);
}

async function rebuildUnderFlow({ infrastructure, signal, ending, report }: Workplace): Promise<boolean> {
  report(`FACTS=${FACTS} RATE=${RATE} READERS=${READERS} COPIES=${COPIES}`);
  const mark = `flow-${randomUUID().slice(0, 8)}`;
  const settings = { ...settingsOf(infrastructure), ...secretKeys };
  await signalboxJson(settings, 'migrate');
  const client = await connectOutside(infrastructure);
  ending.defer(() => client.close());
  const fleet = createFleet({ settings, say: report });
  ending.defer(() => fleet.stop());
  const copies = Array.from({ length: COPIES }, () => fleet.add([stage]));

  const behind = async (): Promise<number> => {
    const held = await client.held(topic);
    return held - (await client.committed(stage, topic));
  };
  const untilCaughtUp = async (): Promise<void> => {
    const [limit, word] = [performance.now() + patienceMs, { at: performance.now() + wordMs }];
    for (let left = await behind(); left > 0; left = await behind()) {
      if (performance.now() > limit) throw new Error(`${left} records are left after ${patienceMs} ms`);
      await delay(lookMs, undefined, { signal });
      if (performance.now() < word.at) continue;
      word.at = performance.now() + wordMs;
      report(`${left} records left`);
    }
  };
  const preparedAt = performance.now();
  await publishAll(client, acceptedFacts(mark, FACTS));
  const publishedMs = performance.now() - preparedAt;
  report(`${FACTS} records published, ${Math.round((FACTS * 1_000) / publishedMs)}/s`);
  await untilCaughtUp();
  const foldedMs = performance.now() - preparedAt;
  report(`the live stage has them, ${Math.round((FACTS * 1_000) / foldedMs)}/s`);

  const edited = spread(freeNumbers, { count: FACTS, wanted: editedRows });
  const steady = spread(steadyNumbers, { count: FACTS, wanted: steadyRows });
  let flowed = 0;
  // Every other fact is a new revision of a watched entry, one after the other, and the rest write new ones.
  const next = (): AcceptedRecord => {
    const turn = flowed >> 1;
    const number = flowed++ % 2 === 0 ? edited[turn % edited.length] : undefined;
    return number === undefined
      ? written(mark, FACTS + turn, 0)
      : written(mark, number, 1 + Math.floor(turn / edited.length));
  };
  const take = (most: number) => Array.from({ length: most }, next);
  const stream = startStream({ client, topic, perSecond: RATE, take });
  ending.defer(() => stream.stop());
  const nameOf = (number: number) => entryOf(mark, number);
  const readers = await startReaders({
    ...{ redisUrl: infrastructure.redisUrl, partitions, readers: READERS, impatient: IMPATIENT === '1' },
    ...{ changing: edited.map(nameOf), steady: steady.map(nameOf) },
  });
  ending.defer(() => readers.stop());
  report(`${RATE} facts/s flow, ${READERS} readers watch ${readers.rows} rows`);
  await delay(aroundMs, undefined, { signal });

  const began = performance.now();
  const rebuild = start(['rebuild', stage, '--json'], { settings });
  ending.defer(() => void rebuild.child.kill('SIGKILL'));
  let [ended, peak, mostBehind] = [false, 0, 0];
  const watching = (async () => {
    for (let wordAt = 0; !ended; ) {
      peak = Math.max(peak, peakMemory(rebuild.child.pid) ?? 0);
      mostBehind = Math.max(mostBehind, await behind());
      if (performance.now() > wordAt) report(`rebuilding: ${readers.reads()} reads, ${readers.wrong.length} wrong`);
      if (performance.now() > wordAt) wordAt = performance.now() + wordMs;
      await delay(lookMs, undefined, { signal });
    }
  })();
  const stopped = [stream.ended, readers.ended].map((each) => each.then(() => Promise.reject(new Error('it stopped'))));
  const { code, out, err } = await Promise.race([rebuild.ended, watching.then(() => rebuild.ended), ...stopped]);
  ended = true;
  await watching;
  const rebuiltMs = performance.now() - began;
  if (code !== 0) throw new Error(`the rebuild ended with ${code}: ${err}`);
  const { generation, records, foldMs } = z
    .object({ generation: z.number(), records: z.number(), foldMs: z.number() })
    .parse(JSON.parse(out));
  report(`generation ${generation} of ${records} records is in use, after ${(rebuiltMs / 1_000).toFixed(1)} s`);
  await delay(aroundMs, undefined, { signal });
  await stream.stop();
  await untilCaughtUp();
  await readers.stop();
  const livePeak = Math.max(...copies.map(({ child }) => peakMemory(child.pid) ?? 0));
  await fleet.stop();

  const compared = await compareMirror(infrastructure, {
    partitions,
    said: (partition) => report(`partition ${partition} is compared`),
  });
  const results = createResults('rebuild-under-flow-results.jsonl');
  results.add('records folded', records, 'records');
  results.add('fold', (records * 1_000) / foldMs, 'records/s');
  results.add('fold time', foldMs / 1_000, 's');
  results.add('rebuild in all', rebuiltMs / 1_000, 's');
  results.add('memory of the rebuild, peak', peak / 2 ** 20, 'MiB');
  results.add('memory of a live copy, peak', livePeak / 2 ** 20, 'MiB');
  results.add('live stage behind, most', mostBehind, 'records');
  results.add('facts meanwhile', stream.published(), 'facts');
  results.add('reads', readers.reads(), 'reads');
  results.add('gaps and steps back', readers.wrong.length, 'reads', { atMost: 0 });
  results.add('rows compared', compared.rows, 'rows');
  results.add('actor events compared', compared.events, 'events');
  results.add('differences', compared.problems.length, 'differences', { atMost: 0 });
  process.stdout.write(`\n${results.table()}\n\n`);
  const wrong = [
    ...readers.wrong,
    ...compared.problems,
    ...[...fleet.ownEnds.keys()].map((reason) => `a copy ended by itself: ${reason}`),
    ...[...fleet.badStops, ...fleet.cutStops, ...fleet.lateStops].map((name) => `did not stop well: ${name}`),
  ];
  for (const each of wrong.slice(0, mostProblems)) report(`WRONG ${each.slice(0, 2_000)}`);
  return wrong.length === 0;
}

await runTool('rebuild-under-flow', rebuildUnderFlow);

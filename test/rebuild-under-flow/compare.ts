import { compareRows } from '../e2e/checker/compare.ts';
import { type LogRecord, readLog, withTimes } from '../e2e/checker/log.ts';
import { refoldMirror } from '../e2e/checker/mirror.ts';
import { readRows } from '../e2e/checker/rows.ts';

/** What was compared, and every difference. */
export interface Compared {
  readonly problems: readonly string[];
  readonly records: number;
  readonly rows: number;
  readonly events: number;
}

/** The record that an actor event was made from: what it says of its origin, without the effect's name. */
const originOf = ({ from = '' }: LogRecord): string => from.split('/', 3).join('/');

/**
 * Folds the accepted facts once more, by the checker's own code, and compares the mirror's rows with what that gives, and
 * the actor events with what must have been told. Partition by partition: all at once would not fit into memory.
 */
export async function compareMirror(
  at: { readonly kafkaBrokers: string; readonly redisUrl: string },
  { partitions, said }: { readonly partitions: number; readonly said: (partition: number) => void },
): Promise<Compared> {
  const [brokers, topic, stage] = [at.kafkaBrokers.split(','), 'accepted-facts', 'mirror-projector'];
  const problems: string[] = [];
  const wanted = new Set<string>();
  let [recordCount, rowCount] = [0, 0];
  for (let partition = 0; partition < partitions; partition++) {
    const others = Array.from({ length: partitions }, (_, other) => other).filter((other) => other !== partition);
    const to = new Map(others.map((other) => [`${topic}/${other}`, 0n]));
    const records = withTimes((await readLog(brokers, [topic], { to })).get(topic) ?? []);
    const { rows, made } = refoldMirror(records);
    const found = await readRows(at.redisUrl, [stage], { partition });
    compareRows(rows, found, problems);
    for (const each of made) if (each.topic === 'actor-events') wanted.add(each.source);
    recordCount += records.length;
    rowCount += found.size;
    said(partition);
  }

  const told = (await readLog(brokers, ['actor-events'], { concerns: () => false })).get('actor-events') ?? [];
  // Equal origins are repeats, which readers drop.
  const effects = new Map(told.map((record) => [record.from, originOf(record)]));
  const origins = new Set(effects.values());
  if (origins.size !== effects.size) problems.push(`${effects.size - origins.size} records were told of twice`);
  for (const source of wanted) if (!origins.has(source)) problems.push(`nothing was told of ${source}`);
  for (const source of origins) if (!wanted.has(source)) problems.push(`${source} was told of for no reason`);
  return { problems, records: recordCount, rows: rowCount, events: effects.size };
}

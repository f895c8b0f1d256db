import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { AnyStage } from '../stage/stage.ts';
import { isWholeReject } from './circuit-breaker.ts';
import type { FoldedRecord } from './fold.ts';
import type { StageHealth, StageObserver } from './run-stage.ts';
import type { SpanResult } from './tracing/open-tracing.ts';

/** Every metric of the shell: its name, labels and meaning, for the reference page too. */
export const shellMetrics = {
  signalbox_records_total: { labels: ['stage', 'result'], help: 'Records by what was done with them.' },
  signalbox_dead_letters_total: { labels: ['stage', 'code'], help: 'Records sent to the dead letters, by code.' },
  signalbox_state_reopened_total: {
    labels: ['stage'],
    help: 'Partitions whose state was read again, since the store lost writes or another owner was here.',
  },
  signalbox_lag_records: {
    labels: ['stage', 'partition'],
    help: 'Records left in a partition that this process owns, as its last batch told, or a look at the log since.',
  },
  signalbox_lag_seconds: {
    labels: ['stage', 'partition'],
    help: 'Age of the oldest record left; between two batches that of the last one handled; 0 when none is left.',
  },
  signalbox_hop_seconds: {
    labels: ['stage'],
    help: 'From the append of the oldest record of a batch until all of the batch was handled: the slowest of its records.',
  },
  signalbox_fact_seconds: {
    labels: ['stage'],
    help: 'From the arrival of a fact at the edge, by the time in its id, until this stage had handled it: one fact of each batch.',
  },
  signalbox_stage_ready: { labels: ['stage'], help: 'Whether the stage is in its group: 1 or 0.' },
  signalbox_stage_partitions: { labels: ['stage'], help: 'Partitions that the group gave to this process.' },
  signalbox_stage_stuck_seconds: {
    labels: ['stage'],
    help: 'Time since the partition that has stood still longest moved, while records are left in it; 0 when all move.',
  },
  signalbox_heartbeat_seconds: { labels: ['stage'], help: 'Time since the group answered the last heartbeat.' },
  signalbox_commits_failed_total: { labels: ['stage'], help: 'Commits of offsets that the group did not take.' },
  signalbox_states_truncated_total: {
    labels: ['stage'],
    help: 'States of partitions that the store lost whole, and that were folded from what their topic still holds.',
  },
  signalbox_rejects_in_a_row: {
    labels: ['stage'],
    help: 'Messages rejected in a row for a fault of ours, in the partition that has most; at RUNTIME_REJECTS_IN_A_ROW the stage stops.',
  },
  signalbox_breaker_open: {
    labels: ['stage'],
    help: 'Whether the stage has stopped before it rejected all that comes: 1 or 0. Its process ends, and shows this for a while.',
  },
  signalbox_table_rows: { labels: ['stage', 'table'], help: 'Rows of a configuration table in memory.' },
  signalbox_sender_records: { labels: ['stage'], help: 'Records that wait to be sent, or for the answer of the log.' },
  signalbox_batch_records: { labels: ['stage'], help: 'Records in one fetched batch.' },
  signalbox_batch_seconds: { labels: ['stage'], help: 'Time to handle one fetched batch, sends and state included.' },
  signalbox_spans_total: {
    labels: ['result'],
    help: 'Spans by what became of them: exported to the collector, or dropped since it was late or away.',
  },
  signalbox_api_requests_total: {
    labels: ['operation', 'outcome'],
    help: 'Requests to the API by operation, and by the code of how they ended: ok, or an error.',
  },
  signalbox_webhooks_total: { labels: ['provider', 'outcome'], help: 'Webhook requests by how they were answered.' },
} as const;

type MetricName = keyof typeof shellMetrics;

/** What is asked of a service when the metrics are asked for; a service without a consumer group has no health. */
export interface WatchedService {
  readonly name: string;
  readonly health?: () => Pick<
    StageHealth,
    | 'ready'
    | 'heartbeatAt'
    | 'partitions'
    | 'lags'
    | 'failedCommits'
    | 'truncatedStates'
    | 'rejectsInARow'
    | 'breakerOpen'
    | 'stuckSince'
  >;
  readonly tableRows: () => ReadonlyMap<string, number>;
  /** Records that its sender has not sent yet. */
  readonly unsent: () => number;
}

/** The metrics of one process. */
export interface Metrics {
  readonly observer: StageObserver;
  readonly webhook: (provider: string, outcome: string) => void;
  readonly apiRequest: (operation: string, outcome: string) => void;
  readonly spans: (result: SpanResult, count: number) => void;
  /** Has a service looked at whenever the metrics are asked for. */
  readonly watch: (service: WatchedService) => void;
  readonly text: () => Promise<string>;
}

const latencyBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800];

/** Makes the registry of a process and the counters that its stages declare. `now` is epoch milliseconds. */
export function createMetrics(stages: readonly AnyStage[], now: () => number): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const options = (name: MetricName) => {
    const { help, labels } = shellMetrics[name];
    return { name, help, labelNames: [...labels], registers: [registry] };
  };
  const records = new Counter(options('signalbox_records_total'));
  const letters = new Counter(options('signalbox_dead_letters_total'));
  const reopened = new Counter(options('signalbox_state_reopened_total'));
  const hops = new Histogram({ ...options('signalbox_hop_seconds'), buckets: latencyBuckets });
  const facts = new Histogram({ ...options('signalbox_fact_seconds'), buckets: latencyBuckets });
  const services = new Set<WatchedService>();
  const look = lookAt(services, options, now);
  const sizes = new Histogram({
    ...options('signalbox_batch_records'),
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000],
  });
  const times = new Histogram({
    ...options('signalbox_batch_seconds'),
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  });
  const apiRequests = new Counter(options('signalbox_api_requests_total'));
  const webhooks = new Counter(options('signalbox_webhooks_total'));
  const spans = new Counter(options('signalbox_spans_total'));

  const declared = new Map(
    stages.map((stage) => [
      stage.name,
      Object.entries(stage.metrics ?? {}).map(([name, { help, labels }]) => {
        const counts = new Map<string, { labels: Readonly<Record<string, string>>; count: number }>();
        return {
          labels,
          count(key: Readonly<Record<string, string>>) {
            const text = JSON.stringify(key);
            const entry = counts.get(text) ?? { labels: key, count: 0 };
            entry.count++;
            counts.set(text, entry);
          },
          text: () =>
            [
              `# HELP ${name} ${help}`,
              `# TYPE ${name} counter`,
              ...[...counts.values()].map((entry) => `${name}${labelText(entry.labels)} ${entry.count}`),
            ].join('\n'),
        };
      }),
    ]),
  );

  return {
    watch: (service) => services.add(service),
    webhook: (provider, outcome) => webhooks.inc({ provider, outcome }),
    apiRequest: (operation, outcome) => apiRequests.inc({ operation, outcome }),
    spans: (result, count) => spans.inc({ result }, count),
    observer: {
      folded(stage, folded) {
        // Once a batch: finding a counter by its labels costs more than all else here.
        const results = new Map<string, number>();
        for (const record of folded) {
          const silent = 'silent' in record && record.silent;
          const result = silent ? 'refolded' : record.type;
          // One that could be read and was rejected comes as both: it counts as what became of it.
          const counted = record.type === 'decided' && record.effects.some(isWholeReject);
          if (!counted) results.set(result, (results.get(result) ?? 0) + 1);
          if (silent) continue;
          if (record.type === 'rejected') letters.inc({ stage: stage.name, code: record.code });
          if (record.type !== 'decided') continue;
          for (const metric of declared.get(stage.name) ?? []) {
            const labels = metric.labels({ message: record.message, effects: record.effects });
            if (labels !== undefined) metric.count(labels);
          }
        }
        for (const [result, count] of results) records.inc({ stage: stage.name, result }, count);
        const arrivedAt = arrivalOf(folded);
        if (arrivedAt !== undefined) facts.observe({ stage: stage.name }, secondsSince(arrivedAt, now()));
      },
      batch(stage, _partition, batch, ms) {
        sizes.observe({ stage: stage.name }, batch.records.length);
        times.observe({ stage: stage.name }, ms / 1_000);
        const oldest = batch.records[0]?.at;
        if (oldest !== undefined) hops.observe({ stage: stage.name }, secondsSince(oldest, now()));
      },
      reopened: (stage) => reopened.inc({ stage: stage.name }),
    },
    async text() {
      look();
      const own = [...declared.values()].flat().map((metric) => `${metric.text()}\n`);
      return `${await registry.metrics()}${own.join('')}`;
    },
  };
}

/** Gauges of the services, which are set when somebody looks: while nothing happens they stay right, and cost nothing. */
function lookAt(
  services: ReadonlySet<WatchedService>,
  options: <N extends MetricName>(
    name: N,
  ) => { name: string; help: string; labelNames: string[]; registers: Registry[] },
  now: () => number,
): () => void {
  const gauge = (name: MetricName) => new Gauge(options(name));
  const lagRecords = gauge('signalbox_lag_records');
  const lagSeconds = gauge('signalbox_lag_seconds');
  const ready = gauge('signalbox_stage_ready');
  const partitions = gauge('signalbox_stage_partitions');
  const stuck = gauge('signalbox_stage_stuck_seconds');
  const heartbeat = gauge('signalbox_heartbeat_seconds');
  const rejects = gauge('signalbox_rejects_in_a_row');
  const breaker = gauge('signalbox_breaker_open');
  const tableRows = gauge('signalbox_table_rows');
  const unsent = gauge('signalbox_sender_records');
  const failedCommits = new Counter(options('signalbox_commits_failed_total'));
  const truncatedStates = new Counter(options('signalbox_states_truncated_total'));

  return () => {
    // A partition that was lost has no line any more: its new owner tells of it.
    for (const each of [lagRecords, lagSeconds, failedCommits, truncatedStates]) each.reset();
    for (const service of services) {
      const stage = service.name;
      unsent.set({ stage }, service.unsent());
      for (const [table, rows] of service.tableRows()) tableRows.set({ stage, table }, rows);
      const health = service.health?.();
      if (health === undefined) continue;
      ready.set({ stage }, health.ready ? 1 : 0);
      partitions.set({ stage }, health.partitions.length);
      heartbeat.set({ stage }, secondsSince(health.heartbeatAt, now()));
      stuck.set({ stage }, secondsSince(health.stuckSince, now()));
      failedCommits.inc({ stage }, health.failedCommits);
      truncatedStates.inc({ stage }, health.truncatedStates);
      rejects.set({ stage }, health.rejectsInARow);
      breaker.set({ stage }, health.breakerOpen ? 1 : 0);
      for (const { partition, records, since } of health.lags) {
        lagRecords.set({ stage, partition }, Number(records));
        lagSeconds.set({ stage, partition }, secondsSince(since, now()));
      }
    }
  };
}

/** Never negative: clocks of two machines differ. */
const secondsSince = (at: number | undefined, now: number): number =>
  at === undefined ? 0 : Math.max(0, now - at) / 1_000;

const uuidWithTime = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/;

/** When the first of these facts arrived at the edge, which gives each an id of UUID version 7; undefined for others. */
function arrivalOf(records: readonly FoldedRecord[]): number | undefined {
  const decided = records.find((record) => record.type === 'decided' && !record.silent);
  if (decided?.type !== 'decided') return undefined;
  const parts = uuidWithTime.exec(decided.message.rootId);
  return parts === null ? undefined : Number.parseInt(`${parts[1]}${parts[2]}`, 16);
}

const labelText = (labels: Readonly<Record<string, string>>): string => {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
};

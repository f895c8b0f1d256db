import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { AnyStage } from '../stage/stage.ts';
import type { StageObserver } from './run-stage.ts';

/** Every metric of the shell: its name, labels and meaning, for the reference page too. */
export const shellMetrics = {
  signalbox_records_total: { labels: ['stage', 'result'], help: 'Records by what was done with them.' },
  signalbox_dead_letters_total: { labels: ['stage', 'code'], help: 'Records sent to the dead letters, by code.' },
  signalbox_state_reopened_total: {
    labels: ['stage'],
    help: 'Partitions whose state was read again, since the store lost writes or another owner was here.',
  },
  signalbox_lag_records: { labels: ['stage', 'partition'], help: 'Records left in a partition after its last batch.' },
  signalbox_batch_records: { labels: ['stage'], help: 'Records in one fetched batch.' },
  signalbox_batch_seconds: { labels: ['stage'], help: 'Time to handle one fetched batch, sends and state included.' },
  signalbox_webhooks_total: { labels: ['provider', 'outcome'], help: 'Webhook requests by how they were answered.' },
} as const;

type MetricName = keyof typeof shellMetrics;

/** The metrics of one process. */
export interface Metrics {
  readonly observer: StageObserver;
  readonly webhook: (provider: string, outcome: string) => void;
  readonly text: () => Promise<string>;
}

/** Makes the registry of a process and the counters that its stages declare. */
export function createMetrics(stages: readonly AnyStage[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const options = (name: MetricName) => {
    const { help, labels } = shellMetrics[name];
    return { name, help, labelNames: [...labels], registers: [registry] };
  };
  const records = new Counter(options('signalbox_records_total'));
  const letters = new Counter(options('signalbox_dead_letters_total'));
  const reopened = new Counter(options('signalbox_state_reopened_total'));
  const lag = new Gauge(options('signalbox_lag_records'));
  const sizes = new Histogram({
    ...options('signalbox_batch_records'),
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000],
  });
  const times = new Histogram({
    ...options('signalbox_batch_seconds'),
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  });
  const webhooks = new Counter(options('signalbox_webhooks_total'));

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
    webhook: (provider, outcome) => webhooks.inc({ provider, outcome }),
    observer: {
      folded(stage, folded) {
        for (const record of folded) {
          const silent = 'silent' in record && record.silent;
          records.inc({ stage: stage.name, result: silent ? 'refolded' : record.type });
          if (silent) continue;
          if (record.type === 'rejected') letters.inc({ stage: stage.name, code: record.code });
          if (record.type !== 'decided') continue;
          for (const metric of declared.get(stage.name) ?? []) {
            const labels = metric.labels({ message: record.message, effects: record.effects });
            if (labels !== undefined) metric.count(labels);
          }
        }
      },
      batch(stage, partition, batch, ms) {
        sizes.observe({ stage: stage.name }, batch.records.length);
        times.observe({ stage: stage.name }, ms / 1_000);
        lag.set({ stage: stage.name, partition }, Number(batch.end - batch.next));
      },
      reopened: (stage) => reopened.inc({ stage: stage.name }),
    },
    async text() {
      const own = [...declared.values()].flat().map((metric) => `${metric.text()}\n`);
      return `${await registry.metrics()}${own.join('')}`;
    },
  };
}

const labelText = (labels: Readonly<Record<string, string>>): string => {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
};

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { stages } from '../../services/index.ts';
import { createMetrics } from '../../shared/runtime/metrics-registry.ts';

const folder = new URL('../../deploy/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8');

const Target = z.object({ expr: z.string() });
const Panel = z.object({
  id: z.int(),
  title: z.string(),
  type: z.string(),
  description: z.string().optional(),
  targets: z.array(Target).default([]),
});
const Dashboard = z.object({
  schemaVersion: z.int(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(Panel),
});
const dashboard = Dashboard.parse(JSON.parse(read('grafana/signalbox.json')));
const charts = dashboard.panels.filter(({ type }) => type !== 'row');
const inPanels = charts.flatMap(({ targets }) => targets.map(({ expr }) => expr));

const alerts = read('prometheus/alerts.yml');
const ruleTests = read('prometheus/alerts.test.yml');
/** The rules of the alerts' file, each with its whole text. */
const rules = alerts
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({ name: text.split('\n')[0] ?? '', text }));

/** The expression of a rule: what stands after `expr:`, on its line or indented below it. */
const exprOf = (text: string): string =>
  /^ {8}expr: (?!\|)(.+)$/m.exec(text)?.[1] ?? /^ {8}expr: \|\n((?: {10}.*\n)+)/m.exec(text)?.[1] ?? '';

// What an expression is made of beside metrics; a word that is neither is found as a metric that nobody declares.
const language = new Set(
  'sum min max rate increase deriv changes absent time histogram_quantile min_over_time max_over_time and or unless offset'.split(
    ' ',
  ),
);

/** The metrics that an expression names. */
const metricsOf = (expr: string): readonly string[] => {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '')
    .replaceAll(/\boffset\s+\w+/g, '');
  return [...bare.matchAll(/(?<![\w$])[a-zA-Z_:][\w:]*/g)].map(([word]) => word).filter((word) => !language.has(word));
};

/** All that `/metrics` of a process with every stage shows, and what Prometheus adds. */
async function declared(): Promise<ReadonlySet<string>> {
  const text = await createMetrics([...stages.values()], () => 0).text();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set([
    'up',
    ...types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
    ),
  ]);
}

const unknownAmong = async (exprs: readonly string[]): Promise<readonly string[]> => {
  const known = await declared();
  return exprs.flatMap(metricsOf).filter((name) => !known.has(name));
};

test('the reader of expressions finds every metric in them', async () => {
  const expr =
    'sum by (stage) (rate(a_total{x=~"b|c_total"}[5m])) > 5 or d_seconds offset 10m unless time() - e{f="g"}';
  expect(metricsOf(expr)).toEqual(['a_total', 'd_seconds', 'e']);
  expect(await unknownAmong(['rate(signalbox_records_total[1m]) / signalbox_nothing'])).toEqual(['signalbox_nothing']);
});

describe('the dashboard', () => {
  test('names only metrics that a process shows', async () => {
    expect(await unknownAmong(inPanels)).toEqual([]);
  });

  test('explains every panel in a sentence, asks something in each, and numbers them once', () => {
    const mute = charts.filter(
      ({ description, targets }) => !/^[A-Z].*\.$/s.test(description ?? '') || targets.length === 0,
    );
    expect(mute.map(({ title }) => title)).toEqual([]);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });

  test('has its rows, and a data source that is chosen where it is opened', () => {
    const titles = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(titles).toEqual(['Overview', 'Stages', 'Edge', 'Processes']);
    expect(dashboard.templating.list).toContainEqual({ name: 'datasource', type: 'datasource' });
  });
});

describe('the alerts', () => {
  test('name only metrics that a process shows', async () => {
    expect(rules.map(({ text }) => exprOf(text)).filter((expr) => expr === '')).toEqual([]);
    expect(await unknownAmong(rules.map(({ text }) => exprOf(text)))).toEqual([]);
  });

  test('say how grave they are, what happened, and lead to what to do', () => {
    const page = readFileSync(new URL('../docs/operating.md', folder), 'utf8');
    const anchors = new Set(
      [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      ),
    );
    const complete = (text: string): boolean =>
      /severity: (?:critical|warning)\b/.test(text) &&
      (/annotations: \*absent/.test(text) || /^ {10}summary: "/m.test(text)) &&
      (/annotations: \*absent/.test(text) || anchors.has(/runbook: docs\/operating\.md#(\S+)/.exec(text)?.[1] ?? ''));
    expect(rules.filter(({ text }) => !complete(text)).map(({ name }) => name)).toEqual([]);
  });

  test('miss no stage that is absent', () => {
    const watched = [...alerts.matchAll(/absent\(signalbox_stage_ready\{stage="([a-z-]+)"\}\)/g)].map(
      ([, name]) => name,
    );
    expect(watched.sort()).toEqual([...stages.keys()].sort());
  });

  test('each has a moment at which it is quiet and one at which it is not', () => {
    const names = [...new Set(rules.map(({ name }) => name))];
    const quiet = (name: string) => new RegExp(`alertname: ${name}, exp_alerts: \\[\\] `).test(ruleTests);
    const loud = (name: string) => new RegExp(`alertname: ${name}\n +exp_alerts:\n +- exp_labels`).test(ruleTests);
    expect(names.filter((name) => !quiet(name) || !loud(name))).toEqual([]);
  });
});

describe('promtool', () => {
  const promtool = (...args: readonly string[]): string =>
    execFileSync('promtool', args, { cwd: fileURLToPath(new URL('prometheus/', folder)), encoding: 'utf8' });
  const installed = ((): boolean => {
    try {
      promtool('--version');
      return true;
    } catch {
      process.stderr.write(
        'promtool is not installed: the alert rules are not run. `apt-get install prometheus` has it.\n',
      );
      return false;
    }
  })();

  test.skipIf(!installed)('can read every expression of the dashboard', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'signalbox-test-')), 'panels.json');
    const plainOf = (expr: string): string => expr.replaceAll('$__rate_interval', '5m').replaceAll('$stage', '.+');
    const asRules = inPanels.map((expr, index) => ({ record: `panel:${index}`, expr: plainOf(expr) }));
    // Its rules are YAML, and JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules: asRules }] }));
    try {
      expect(promtool('check', 'rules', file)).toContain(`SUCCESS: ${inPanels.length} rules found`);
    } finally {
      rmSync(dirname(file), { recursive: true });
    }
  });

  test.skipIf(!installed)('finds the alerts at each of their moments as they are told to be', () => {
    expect(promtool('check', 'config', 'prometheus.yml')).toContain('SUCCESS');
    expect(promtool('check', 'rules', 'alerts.yml')).toContain(`SUCCESS: ${rules.length} rules found`);
    expect(promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
  });
});

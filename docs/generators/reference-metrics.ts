import { shellMetrics } from '../../shared/runtime/metrics-registry.ts';
import type { AnyStage } from '../../shared/stage/index.ts';
import { byText, type GeneratedFile } from './file.ts';
import { code, page, table } from './markdown.ts';

/** `docs/reference/metrics.md`. */
export function metricsPage(stages: ReadonlyMap<string, AnyStage>): GeneratedFile {
  const shell = Object.entries(shellMetrics)
    .sort(([a], [b]) => byText(a, b))
    .map(([name, { labels, help }]) => [code(name), labels.map(code).join(', '), help]);
  const ofStages = [...stages.values()].flatMap((stage) =>
    Object.entries(stage.metrics ?? {})
      .sort(([a], [b]) => byText(a, b))
      .map(([name, { help }]) => [code(name), code(stage.name), help]),
  );
  const text = page('Metrics', [
    'What `/metrics` of every process shows, in the text format of Prometheus, beside the figures of the process itself. Labels come from closed sets; an id is never one.',
    '## Of the shell',
    table(['Metric', 'Labels', 'What it counts'], shell),
    '## Of the stages',
    table(['Metric', 'Stage', 'What it counts'], ofStages),
  ]);
  return { path: 'docs/reference/metrics.md', text };
}

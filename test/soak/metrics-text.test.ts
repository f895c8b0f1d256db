import { expect, test } from 'vitest';
import { metricIn } from './metrics-text.ts';

const text = `# HELP process_open_fds Number of open file descriptors.
# TYPE process_open_fds gauge
process_open_fds 27
process_open_fds_max 1024
lag{stage="filter",partition="0"} 3
lag{stage="filter",partition="}"} 1.5e1
`;

test('a metric is read by its whole name, all its lines together', () => {
  expect(metricIn(text, 'process_open_fds')).toBe(27);
  expect(metricIn(text, 'lag')).toBe(18);
  expect(metricIn(text, 'process_open')).toBeUndefined();
});

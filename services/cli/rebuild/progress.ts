import type { RebuildStep } from '../../../shared/runtime/rebuild.ts';

type Folding = Extract<RebuildStep, { readonly type: 'folding' }>;

const percent = (done: bigint, all: bigint): number => (all <= 0n ? 100 : Number((done * 100n) / all));

const left = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s left` : `${Math.ceil(seconds / 60)} min left`;

/** How far a rebuild is, on one line: records, rate, time left and the share of each partition. `ms`: since its start. */
export function progressText({ partitions, folded }: Folding, ms: number): string {
  const all = partitions.map(({ start, next, goal }) => {
    const end = goal + 1n > start ? goal + 1n : start;
    return { done: next < end ? next - start : end - start, all: end - start };
  });
  const done = all.reduce((sum, each) => sum + each.done, 0n);
  const wanted = all.reduce((sum, each) => sum + each.all, 0n);
  const rate = ms <= 0 ? 0 : (folded * 1_000) / ms;
  const parts = [
    `${done} of ${wanted} records (${percent(done, wanted)} %)`,
    `${Math.round(rate)}/s`,
    ...(rate > 0 ? [left(Number(wanted - done) / rate)] : []),
  ];
  return `${parts.join(', ')} [${all.map((each) => percent(each.done, each.all)).join(' ')}]`;
}

/** A restart of one copy. */
export interface Restart {
  readonly atMs: number;
  readonly stage: string;
  readonly signal: 'SIGTERM' | 'SIGKILL';
}

/**
 * One restart after the other, stage by stage; each stage is asked to stop and killed in turn. The last one has as much
 * time to settle as the others.
 */
export function restartsOf(options: {
  readonly timeMs: number;
  readonly restartMs: number;
  readonly stages: readonly string[];
}): readonly Restart[] {
  const { timeMs, restartMs, stages } = options;
  const count = Math.max(0, Math.ceil(timeMs / restartMs) - 1);
  return Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / stages.length);
    return {
      atMs: (index + 1) * restartMs,
      stage: stages[index % stages.length] ?? '',
      signal: (index + round) % 2 === 0 ? 'SIGTERM' : 'SIGKILL',
    };
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startInfrastructure } from './infrastructure.ts';
import type { Infrastructure } from './parts.ts';

/** What a tool that measures works with. */
export interface Workplace {
  readonly infrastructure: Infrastructure;
  /** Aborts when it is over, before anything ends: nothing may be started after that. */
  readonly signal: AbortSignal;
  /** What has to end before the infrastructure does, the last one first. */
  readonly ending: AsyncDisposableStack;
  /** Says something, with the time since the start. */
  readonly report: (line: string) => void;
}

/**
 * Runs a tool on an infrastructure of its own until it is done or a signal comes: either way, everything that it started
 * ends, and then this process, with 0 only where the tool answers that all is well. A second signal ends it at once.
 */
export async function runTool(name: string, work: (place: Workplace) => Promise<boolean>): Promise<never> {
  const began = performance.now();
  const report = (line: string): void => {
    process.stderr.write(`${((performance.now() - began) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`);
  };
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => reject(`stopped by ${signal}`));
    }
  });
  const dir = mkdtempSync(join(tmpdir(), `signalbox-${name}-`));
  const [ending, over] = [new AsyncDisposableStack(), new AbortController()];
  ending.defer(() => rmSync(dir, { recursive: true, force: true }));
  const whole = async (): Promise<boolean> => {
    const infrastructure = await startInfrastructure({ dir: join(dir, 'infrastructure'), keepData: false, report });
    ending.defer(() => infrastructure.stop());
    return work({ infrastructure, signal: over.signal, ending, report });
  };
  let isWell = false;
  try {
    isWell = await Promise.race([whole(), interrupted]);
  } catch (error) {
    report(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    over.abort();
    await ending.disposeAsync();
  }
  process.exit(isWell ? 0 : 1);
}

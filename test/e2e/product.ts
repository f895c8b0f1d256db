import type { ChildProcess } from 'node:child_process';
import { expect, vi } from 'vitest';
import { type Ran, start } from '../integration/signalbox.ts';

/** Services that run as a process of their own. */
export interface ServiceProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  readonly probeUrl: string;
  /** Where webhooks go; empty without the ingress. */
  readonly ingressUrl: string;
  /** Where the API is asked; empty without it. */
  readonly apiUrl: string;
}

const patience = { timeout: 60_000, interval: 50 };

/** All that the pipeline consists of. */
export const everyService = ['ingress', 'normalizer', 'filter', 'mirror-projector', 'decision-journal'] as const;

/** Starts `signalbox run …` and waits until its services run; `/readyz` may still say that they join their groups. */
export async function runServices(
  services: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const { child, ended } = start(['run', ...services], {
    settings: { INGRESS_PORT: '0', API_PORT: '0', SIGNALBOX_LOG_LEVEL: 'warn', ...settings },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part: string) => {
      said += part;
    });
  }
  try {
    await vi.waitFor(() => expect(`${child.exitCode} ${said}`).toMatch(/^null [\s\S]*Probes: /), patience);
  } catch (error) {
    // Nobody else knows it, so nobody else would end it.
    child.kill('SIGKILL');
    throw error;
  }
  return {
    pid: child.pid ?? 0,
    child,
    ended,
    probeUrl: /Probes: +(http:\S+)\/readyz/.exec(said)?.[1] ?? '',
    ingressUrl: /Webhooks: +(http:\S+?)\/webhooks/.exec(said)?.[1] ?? '',
    apiUrl: /API: +(http:\S+?)\/signal-bindings/.exec(said)?.[1] ?? '',
  };
}

/** Whether all services of a process have joined. */
export async function isReady({ probeUrl }: { readonly probeUrl: string }): Promise<boolean> {
  try {
    const answer = await fetch(`${probeUrl}/readyz`, { signal: AbortSignal.timeout(5_000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    // A process that is gone, or not there yet, is not ready: that was the question.
    return false;
  }
}

/** Waits until all services of a process have joined. */
export const untilReady = (service: { readonly probeUrl: string }): Promise<void> =>
  vi.waitFor(async () => expect(await isReady(service)).toBe(true), patience);

/** Asks a process to stop, and answers how it ended. */
export function stop({ child, ended }: Pick<ServiceProcess, 'child' | 'ended'>): Promise<Ran> {
  child.kill('SIGTERM');
  return ended;
}

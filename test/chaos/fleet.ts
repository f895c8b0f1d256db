import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { type Ran, start } from '../integration/signalbox.ts';

/** One process that runs services, as `signalbox run` starts it. */
export interface Copy {
  readonly name: string;
  readonly services: readonly string[];
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** Where its probes and metrics are; undefined until its services run. */
  readonly probeUrl: () => string | undefined;
  /** What its end means: that somebody asked for it, or that it could not go on. */
  fate: 'running' | 'killed' | 'leaving';
}

/** The copies of all services: who ends by themselves are started again, later each time. */
export interface Fleet {
  readonly running: () => readonly Copy[];
  readonly add: (services: readonly string[]) => Copy;
  /** Gives it no chance to say goodbye, and starts another one after a while. */
  readonly kill: (copy: Copy, awayMs: number) => void;
  readonly freeze: (copy: Copy, ms: number) => Promise<void>;
  /** Asks it to stop. */
  readonly remove: (copy: Copy) => void;
  /** Kills it or asks it to stop, for good; resolves when it is gone. */
  readonly end: (copy: Copy, signal: 'SIGKILL' | 'SIGTERM') => Promise<void>;
  /** How often copies could not go on, by reason. */
  readonly ownEnds: ReadonlyMap<string, number>;
  /** Copies that were asked to stop and did not end with 0, and what they said. */
  readonly badStops: readonly string[];
  /** Copies that gave up their own stop after the time it may take: what they waited for did not answer. Nothing is lost by it. */
  readonly cutStops: readonly string[];
  /** Copies that had to be killed since they did not stop in time. */
  readonly lateStops: readonly string[];
  readonly thaw: () => void;
  readonly stop: () => Promise<void>;
}

const [firstBackOffMs, lastBackOffMs, forgivenMs] = [500, 8_000, 30_000];
// What a stop may take and what its end may take are bounded at a third of this; the machine is full of processes.
const stopMs = 30_000;

/** Makes an empty fleet. */
export function createFleet(options: {
  readonly settings: Readonly<Record<string, string>>;
  readonly say: (text: string) => void;
}): Fleet {
  const { say } = options;
  const copies = new Set<Copy>();
  const ownEnds = new Map<string, number>();
  const badStops: string[] = [];
  const cutStops: string[] = [];
  const lateStops: string[] = [];
  const frozen = new Set<Copy>();
  const stopping = new AbortController();
  let [count, backOffMs, endedAt] = [0, firstBackOffMs, 0];

  const again = async (services: readonly string[], ms: number): Promise<void> => {
    // The end of the run is no reason to wait, and none to start anybody.
    await delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
    if (!stopping.signal.aborted) add(services);
  };

  const watch = async (copy: Copy): Promise<void> => {
    const { code, signal, err } = await copy.ended;
    copies.delete(copy);
    frozen.delete(copy);
    // Ended by the signal itself, it had not begun to listen to it, and held nothing.
    const isWell = code === 0 || signal === 'SIGTERM';
    if (copy.fate === 'leaving' && !isWell && !lateStops.includes(copy.name)) {
      const isCut = code === 1 && err.includes('graceful stop took too long');
      (isCut ? cutStops : badStops).push(`${copy.name}: ${reasonOf(err) ?? `${signal ?? code}`}`);
    }
    if (copy.fate !== 'running' || stopping.signal.aborted) return;
    const reason = reasonOf(err) ?? `${signal ?? `code ${code}`}`;
    ownEnds.set(reason, (ownEnds.get(reason) ?? 0) + 1);
    if (performance.now() - endedAt > forgivenMs) backOffMs = firstBackOffMs;
    endedAt = performance.now();
    say(`${copy.name} ended by itself: ${reason}; another one starts in ${backOffMs} ms`);
    const ms = backOffMs;
    backOffMs = Math.min(lastBackOffMs, backOffMs * 2);
    await again(copy.services, ms);
  };

  const add = (services: readonly string[]): Copy => {
    const name = `${services.length > 1 ? 'all' : services[0]}-${++count}`;
    const { child, ended } = start(['run', ...services], {
      settings: { SIGNALBOX_LOG_LEVEL: 'warn', KAFKA_CLIENT_ID: name, ...options.settings },
    });
    let probeUrl: string | undefined;
    child.stderr?.on('data', (part: string) => {
      probeUrl ??= /Probes: +(http:\S+)\/readyz/.exec(part)?.[1];
    });
    const copy: Copy = { name, services, child, ended, probeUrl: () => probeUrl, fate: 'running' };
    copies.add(copy);
    void watch(copy);
    return copy;
  };

  const leave = async (copy: Copy): Promise<void> => {
    if (copy.fate === 'running') copy.child.kill('SIGTERM');
    copy.fate = 'leaving';
    // The time in which it is frozen does not count, so the clock begins anew where it goes on.
    const late = setTimeout(() => {
      if (frozen.has(copy)) {
        late.refresh();
        return;
      }
      say(`${copy.name} has not stopped ${stopMs} ms after it was asked to, and is killed`);
      lateStops.push(copy.name);
      copy.child.kill('SIGKILL');
    }, stopMs);
    await copy.ended;
    clearTimeout(late);
  };

  const thaw = (): void => {
    for (const { child } of frozen) child.kill('SIGCONT');
    frozen.clear();
  };

  return {
    running: () => [...copies].filter(({ fate }) => fate === 'running'),
    add,
    kill(copy, awayMs) {
      copy.fate = 'killed';
      copy.child.kill('SIGKILL');
      void again(copy.services, awayMs);
    },
    async freeze(copy, ms) {
      frozen.add(copy);
      copy.child.kill('SIGSTOP');
      await delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
      frozen.delete(copy);
      copy.child.kill('SIGCONT');
    },
    remove(copy) {
      void leave(copy);
    },
    async end(copy, signal) {
      if (signal === 'SIGTERM') return leave(copy);
      copy.fate = 'killed';
      copy.child.kill('SIGKILL');
      await copy.ended;
    },
    ownEnds,
    badStops,
    cutStops,
    lateStops,
    thaw,
    async stop() {
      stopping.abort();
      thaw();
      await Promise.all([...copies].map(leave));
    },
  };
}

/** The last reason that a process gave: the code of its log's gravest line, else of what it printed at its end. */
function reasonOf(said: string): string | undefined {
  const last = said
    .trim()
    .split('\n')
    .findLast((line) => line.includes('"level":50') || /^[a-z]+(?:-[a-z]+)+: /.test(line));
  return last === undefined ? undefined : (/"code":"([^"]+)"/.exec(last)?.[1] ?? last.slice(0, 200));
}

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Infrastructure, type InfrastructureOptions, type PartName, partNames } from '../parts.ts';
import { areFetched, fetchArtifacts } from './artifacts.ts';
import { choosePorts } from './choose-ports.ts';
import { claimFolder, leaveFolder } from './folder.ts';
import { planKafka } from './kafka.ts';
import { type ProcessPlan, type RunningProcess, startProcess } from './process.ts';
import { planRedis } from './redis.ts';
import { planRegistry, registryUrl } from './registry.ts';
import { findTools } from './tools.ts';

/** Runs Kafka, Redis and the registry as processes of this machine, each in a folder of its own below `dir`. */
export async function startNative(options: InfrastructureOptions): Promise<Infrastructure> {
  const { keepData, report, need = partNames, environment = process.env } = options;
  const dir = resolve(options.dir);
  const needsJava = need.includes('kafka') || need.includes('registry');
  const needsMaven = needsJava && !areFetched();
  const tool = await findTools(
    [
      ...(needsJava ? (['java'] as const) : []),
      ...(needsMaven ? (['mvn'] as const) : []),
      ...(need.includes('redis') ? (['redis-server'] as const) : []),
    ],
    environment,
  );
  if (needsMaven) await fetchArtifacts(tool.mvn, environment, report);

  await claimFolder(dir);
  const dismissWatcher = watchOver(dir, keepData);
  const ports = await choosePorts({ ...options, dir });
  report(`Starting ${need.length} parts in ${dir}`);

  const plan = (part: PartName): ProcessPlan | Promise<ProcessPlan> => {
    const own = { dir: join(dir, part), java: tool.java, port: ports[part], environment };
    mkdirSync(own.dir, { recursive: true });
    switch (part) {
      case 'kafka':
        return planKafka({ ...own, controllerPort: ports.controller, kafkaProxy: options.kafkaProxy });
      case 'redis':
        return planRedis({ ...own, redisServer: tool['redis-server'] });
      case 'registry':
        return planRegistry(own);
    }
  };
  const starts = await Promise.allSettled(
    need.map(async (part) => [part, await startProcess(await plan(part), report)] as const),
  );
  const running = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed !== undefined) {
    await stopAll(running, true);
    // What is stored stays, for the error names a log in it.
    await leaveFolder(dir, true);
    dismissWatcher();
    throw failed.reason;
  }

  const address = (part: PartName, text: string): string => (need.includes(part) ? text : '');
  return {
    way: 'native',
    kafkaBrokers: address('kafka', `127.0.0.1:${ports.kafka}`),
    redisUrl: address('redis', `redis://127.0.0.1:${ports.redis}`),
    schemaRegistryUrl: address('registry', registryUrl(ports.registry)),
    parts: Object.fromEntries(running),
    async stop() {
      await stopAll(running, !keepData);
      await leaveFolder(dir, keepData);
      dismissWatcher();
    },
  };
}

async function stopAll(running: readonly (readonly [PartName, RunningProcess])[], atOnce: boolean): Promise<void> {
  await Promise.all(running.map(([, part]) => part.stop(atOnce)));
}

/** Has a small process clean up after this one, should it die without a chance to. Returns how to send it away. */
function watchOver(dir: string, keepData: boolean): () => void {
  const watcher = fileURLToPath(new URL('watcher.ts', import.meta.url));
  const child = spawn(process.execPath, [watcher, dir, keepData ? 'keep' : 'remove'], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const { stdin } = child;
  // Neither the watcher nor the pipe that it watches is a reason for this process to live on.
  child.unref();
  if (stdin instanceof Socket) stdin.unref();
  return () => stdin.end();
}

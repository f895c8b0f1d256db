import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BusError } from '../../../shared/errors.ts';
import type { Environment } from '../parts.ts';

const pom = fileURLToPath(new URL('pom.xml', import.meta.url));
const cache = fileURLToPath(new URL('../../../.signalbox/cache/', import.meta.url));
// The folder is named after what the pom asks for, and gets its name when it is complete: to exist is to be usable.
const folder = join(cache, `native-${createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12)}`);

/** Where the native way's jars are. */
export const artifacts = { kafkaJars: join(folder, 'kafka'), registryFolder: join(folder, 'registry') } as const;

export const areFetched = (): boolean => existsSync(folder);

/** Fetches Kafka and the registry through Maven, once. Two that fetch at the same time do not disturb each other. */
export async function fetchArtifacts(maven: string, environment: Environment, report: (line: string) => void) {
  const partial = `${folder}.partial-${process.pid}`;
  mkdirSync(cache, { recursive: true });
  report('Fetching Kafka and Apicurio Registry through Maven, about 160 MB, once:');
  try {
    await runMaven(maven, partial, environment, report);
    if (!areFetched()) renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

async function runMaven(maven: string, into: string, environment: Environment, report: (line: string) => void) {
  const child = spawn(maven, ['-f', pom, 'package', `-Dcache=${into}`], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errors: string[] = [];
  child.stderr.on('data', (bytes: Buffer) => errors.push(bytes.toString().trim()));
  let fetched = 0;
  let now = '';
  const words = setInterval(() => report(`  ${fetched} files so far${now}`), 3_000);
  // Maven ends a line of progress with a carriage return, which readline takes for the end of a line too.
  for await (const line of createInterface({ input: child.stdout })) {
    if (/Downloaded from/.test(line)) fetched += 1;
    const progress = /Progress \(\d+\): (.*)/.exec(line)?.[1];
    if (progress !== undefined) now = `, now ${progress.trim()}`;
    if (line.includes('ERROR')) errors.push(line);
  }
  clearInterval(words);
  const code = child.exitCode ?? (await once(child, 'exit'))[0];
  if (code !== 0) {
    throw new BusError('start-failed', {
      part: 'Maven',
      lastLines: errors.filter((line) => line !== '').slice(0, 10),
      fix: 'Check that Maven reaches Maven Central (network, proxy, ~/.m2/settings.xml), then start again.',
    });
  }
  report(`  ${fetched} files, complete`);
}

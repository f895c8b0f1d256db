import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { BusError } from '../../../shared/errors.ts';
import type { Environment } from '../parts.ts';

const run = promisify(execFile);

/** A program that the native way runs, the least version of it, and the package of Debian that has it. */
const tools = {
  java: { title: 'Java', least: 17, ask: ['-version'], version: /version "(\d+)/, install: 'default-jre-headless' },
  mvn: { title: 'Maven', least: 3, ask: ['-v'], version: /Apache Maven (\d+)/, install: 'maven' },
  'redis-server': { title: 'Redis', least: 7, ask: ['--version'], version: /v=(\d+)/, install: 'redis-server' },
} as const;

export type Tool = keyof typeof tools;

/** Where the programs are. If any is absent or too old, one error names all of them and the command that installs them. */
export async function findTools<const Wanted extends Tool>(
  wanted: readonly Wanted[],
  environment: Environment,
): Promise<Readonly<Record<Wanted, string>>> {
  const looks = await Promise.all(wanted.map((tool) => look(tool, environment)));
  const problems = looks.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  if (problems.length > 0) {
    const packages = looks.flatMap(({ problem, install }) => (problem === undefined ? [] : [install])).join(' ');
    throw new BusError('tool-missing', {
      problems,
      fix:
        `apt-get update && apt-get install -y ${packages} (or what your system has instead). ` +
        'Or start Docker, or set KAFKA_BROKERS, REDIS_URL and SCHEMA_REGISTRY_URL.',
    });
  }
  // Each wanted tool has an entry, since each was looked for.
  return Object.fromEntries(looks.map(({ tool, path }) => [tool, path])) as Record<Wanted, string>;
}

async function look(tool: Tool, environment: Environment) {
  const { title, least, ask, version, install } = tools[tool];
  const path = findProgram(tool, environment);
  if (path === undefined) return { tool, path: '', install, problem: `${title}: no \`${tool}\` on the PATH` };
  const { stdout, stderr } = await run(path, ask, { env: environment });
  const found = Number(version.exec(stdout + stderr)?.[1] ?? 0);
  const problem = found < least ? `${title}: ${path} is version ${found}, at least ${least} is needed` : undefined;
  return { tool, path, install, problem };
}

function findProgram(name: string, environment: Environment): string | undefined {
  const home = name === 'java' && environment.JAVA_HOME ? [join(environment.JAVA_HOME, 'bin')] : [];
  const folders = [...home, ...(environment.PATH ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us to run: either way no.
    return false;
  }
}

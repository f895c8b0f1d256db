import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, inject, test, vi } from 'vitest';
import { settingsOf, signalbox, signalboxJson, start } from './signalbox.ts';

const settings = {
  ...settingsOf(inject('infrastructure')),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  HOOK: 'the secret itself',
};

/** A Node of the system that is too old for the sources, where there is one. */
const olderNode = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => {
    try {
      return Number(execFileSync(path, ['-p', 'process.versions.node.split(".")[0]'], { encoding: 'utf8' })) < 24;
    } catch {
      return false;
    }
  });

test('connections and bindings are put, listed and deleted over the real log, and no secret is printed', async () => {
  await signalbox(settings, 'migrate');
  const put = await signalbox(
    settings,
    ...['connections', 'put', 'cli-test', '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'],
  );
  expect(put).toMatchObject({ code: 0, err: '' });
  expect(put.out).toContain('webhooks  /webhooks/v1/github/cli-test/events');
  expect(put.out).not.toContain(settings.HOOK);

  const filter = "signal.kind == 'entry_received'";
  await signalboxJson(settings, 'bindings', 'put', 'Cli-Agent', 'desk', '--connection', 'cli-test', '--filter', filter);
  expect(await signalboxJson(settings, 'bindings', 'list', '--agent', 'cli-agent')).toEqual([
    {
      agentUid: 'cli-agent',
      name: 'desk',
      adapter: 'github',
      connectionId: 'cli-test',
      filters: { cel: filter },
      unaddressedGroupMessagePolicy: 'record_only',
      enabled: true,
      unavailableReason: null,
      updatedAt: expect.any(Number),
    },
  ]);
  const refused = await signalbox(settings, 'connections', 'delete', 'cli-test', '--json');
  expect([refused.code, refused.out]).toEqual([1, '']);
  expect(JSON.parse(refused.err)).toMatchObject({ error: { code: 'connection-in-use' } });

  expect((await signalbox(settings, 'bindings', 'delete', 'cli-agent', 'desk')).out).toBe('Deleted cli-agent/desk.\n');
  expect((await signalbox(settings, 'connections', 'delete', 'cli-test')).out).toBe('Deleted cli-test.\n');
  expect(await signalboxJson(settings, 'bindings', 'list', '--agent', 'cli-agent')).toEqual([]);
});

test('what was typed wrong ends with 2 and prints nothing to standard output', async () => {
  const typo = await signalbox(settings, 'topics', '--jsno');
  expect([typo.code, typo.out]).toEqual([2, '']);
  expect(typo.err).toContain('(Did you mean --json?)');
});

test('an infrastructure that does not answer ends with 1 and its code, not with a hang', async () => {
  const nowhere = { ...settings, KAFKA_BROKERS: '127.0.0.1:1' };
  const { code, out, err } = await signalbox(nowhere, 'topics');
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('infrastructure-unavailable');
});

test.skipIf(olderNode === undefined)('an older Node runs the same command under the one of node_modules', async () => {
  const { ended } = start(['--version'], { node: olderNode ?? '' });
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await ended).toEqual({ code: 0, signal: null, out: `${version}\n`, err: '' });
  expect((await start(['nonsense'], { node: olderNode ?? '' }).ended).code).toBe(2);
});

/** The processes that a process started. */
const childrenOf = (pid: number | undefined): readonly number[] =>
  execFileSync('ps', ['-eo', 'pid,ppid'], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));

const runs = (pid: number): boolean =>
  execFileSync('ps', ['-eo', 'pid'], { encoding: 'utf8' }).split('\n').map(Number).includes(pid);

// `dev` over a given infrastructure starts nothing and stays: a command that runs until it is told to stop.
test.skipIf(olderNode === undefined).each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
  '%s to the older Node ends the newer one too',
  async (signal) => {
    const { child, ended } = start(['dev'], { node: olderNode ?? '', settings });
    let err = '';
    child.stderr?.on('data', (part: string) => {
      err += part;
    });
    await vi.waitFor(() => expect(err).toContain('Ready.'), { timeout: 30_000, interval: 50 });
    const below = childrenOf(child.pid);
    expect(below).toHaveLength(1);
    child.kill(signal);
    expect((await ended).code).toBe(signal === 'SIGKILL' ? null : 0);
    await vi.waitFor(() => expect(below.filter(runs)).toEqual([]), { timeout: 10_000, interval: 50 });
  },
);

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environmentText, withEnvironmentFile } from './environment.ts';

let folder = '';
const written = { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:2', SIGNALBOX_PARTITIONS: '3' };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-cli-'));
  mkdirSync(join(folder, '.signalbox'));
  writeFileSync(join(folder, '.signalbox/env'), environmentText(written));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the file supplies what the environment does not', () => {
  expect(withEnvironmentFile({ SIGNALBOX_PARTITIONS: '6', HOME: '/' }, folder)).toEqual({
    environment: { ...written, SIGNALBOX_PARTITIONS: '6', HOME: '/' },
    file: '.signalbox/env',
  });
});

test('one address in the environment is enough to leave the file alone', () => {
  const given = { REDIS_URL: 'redis://elsewhere:6379' };
  expect(withEnvironmentFile(given, folder)).toEqual({ environment: given, file: undefined });
});

test('no file, no addresses', () => {
  expect(withEnvironmentFile({}, join(folder, 'nowhere'))).toEqual({ environment: {}, file: undefined });
});

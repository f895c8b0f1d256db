import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { stages } from '../../services/index.ts';
import { imageOf } from '../harness/docker/images.ts';
import { asVariable, singleNode } from '../harness/kafka-settings.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const compose = read('docker-compose.yml');
const pom = read('test/harness/native/pom.xml');

test('docker-compose.yml runs every stage, and nothing that is no stage but the edge and the API', () => {
  const run = [...compose.matchAll(/command: \["run", "([a-z-]+)"\]/g)].map(([, name]) => name);
  expect(run.sort()).toEqual([...stages.keys(), 'ingress', 'api'].sort());
});

test('a broker of docker-compose.yml has the settings of every other single broker', () => {
  const settings = Object.entries(singleNode).map(([name, value]) => `      ${asVariable(name)}: "${value}"`);
  const lines = compose.split('\n');
  expect(settings.filter((line) => !lines.includes(line))).toEqual([]);
});

test('containers and processes are of the same versions', () => {
  const version = (name: string) => new RegExp(`<${name}.version>(.+)</${name}.version>`).exec(pom)?.[1];
  expect({ kafka: imageOf('kafka'), registry: imageOf('registry') }).toEqual({
    kafka: `apache/kafka:${version('kafka')}`,
    registry: `apicurio/apicurio-registry:${version('apicurio')}`,
  });
});

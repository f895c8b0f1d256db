import { expect, test } from 'vitest';
import { BusError } from '../errors.ts';
import { readTracingSettings } from './tracing-settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

const problemsOf = (environment: Readonly<Record<string, string>>): unknown => {
  try {
    return readTracingSettings(environment);
  } catch (error) {
    return error instanceof BusError ? error.details.problems : error;
  }
};

test.each([
  ['nothing is said', {}],
  ['the address is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ['only other things are said', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER_ARG: '7' }],
  ['it is switched off', { ...endpoint, OTEL_SDK_DISABLED: 'true' }],
])('tracing is off where %s', (_, environment) => {
  expect(readTracingSettings(environment)).toBeUndefined();
});

test('an address switches it on', () => {
  expect(readTracingSettings(endpoint)).toEqual({
    url: 'http://collector:4318/v1/traces',
    headers: {},
    share: 1,
    queueSpans: 4_096,
    delayMs: 5_000,
  });
});

test('the names of the standard are understood, and those for other programs passed over', () => {
  const settings = readTracingSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example/tenant/',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c3dvcmRmaXNo, x-tenant = a=b',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_SERVICE_NAME: 'other',
    OTEL_RESOURCE_ATTRIBUTES: 'a=b',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://other',
  });
  expect(settings).toEqual({
    url: 'https://otel.example/tenant/v1/traces',
    headers: { authorization: 'Basic c3dvcmRmaXNo', 'x-tenant': 'a=b' },
    share: 0.01,
    queueSpans: 10,
    delayMs: 100,
  });
});

test.each([
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_TRACES_SAMPLER', 'always_off'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://other'],
  ['OTEL_EXPORTER_OTLP_HAEDERS', 'a=b'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'swordfish'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'swordfish=%zz'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'swordfish=%0d%0aevil'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'sword fish=x'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'swordfish:4317'],
])('%s=%s stops the start, and its value is not told', (name, value) => {
  const problems = problemsOf({ ...endpoint, [name]: value });
  expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: .`))]);
  expect(JSON.stringify(problems)).not.toMatch(/sword|evil/);
});

import { z } from 'zod';
import { defineConfig, flag, readConfig } from '../config.ts';
import { BusError } from '../errors.ts';
import { type Secret, secret } from '../secret.ts';
import type { Environment } from './connection-settings.ts';

const count = (from: number, to: number) => z.coerce.number().int().min(from).max(to);

/** Where spans go, under the names that OpenTelemetry gives these settings. */
export const tracingConfig = defineConfig('OTEL', {
  exporterOtlpEndpoint: z
    .string()
    .regex(/^https?:\/\/\S+$/, { error: 'must begin with http:// or https://' })
    .optional()
    .describe('Address of a collector, up to `/v1/traces`. Tracing is on when it is given.'),
  exporterOtlpHeaders: secret().optional().describe('Headers that the collector asks for: name=value,name=value.'),
  exporterOtlpProtocol: z
    .enum(['http/json'])
    .default('http/json')
    .describe('How spans are sent; a collector takes it at the port of http/protobuf.'),
  tracesSampler: z
    .enum(['parentbased_traceidratio'])
    .default('parentbased_traceidratio')
    .describe('Who decides what is recorded: the edge, by the trace id; the stages keep to it.'),
  tracesSamplerArg: z.coerce.number().min(0).max(1).default(1).describe('The share of facts that is recorded.'),
  bspMaxQueueSize: count(1, 100_000).default(4_096).describe('Spans that wait to be taken; one more is dropped.'),
  bspScheduleDelay: count(10, 60_000).default(5_000).describe('Milliseconds between sends, while few spans come.'),
  sdkDisabled: flag().default(false).describe('Switches tracing off although there is an address.'),
});

/** Where spans go, and how many. */
export interface TracingSettings {
  /** Where a request goes. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of all facts, from 0 to 1. */
  readonly share: number;
  readonly queueSpans: number;
  readonly delayMs: number;
}

// The other names of the standard are for other programs of the same machine; a typo in ours still stops the start.
const ours = /^OTEL_(?:EXPORTER_OTLP_(?!METRICS_|LOGS_|PROFILES_)|TRACES_SAMPLER|BSP_|SDK_DISABLED)/;

/** Reads where spans go; undefined while tracing is off. Throws `setting-invalid`. */
export function readTracingSettings(environment: Environment): TracingSettings | undefined {
  if ((environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? '') === '') return undefined;
  const given = Object.fromEntries(Object.entries(environment).filter(([name]) => ours.test(name)));
  const [read] = readConfig([tracingConfig] as const, given);
  if (read.sdkDisabled || read.exporterOtlpEndpoint === undefined) return undefined;
  return {
    url: `${read.exporterOtlpEndpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(read.exporterOtlpHeaders),
    share: read.tracesSamplerArg,
    queueSpans: read.bspMaxQueueSize,
    delayMs: read.bspScheduleDelay,
  };
}

const pair = /^([\w!#$%&'*+.^`|~-]+)\s*=\s*(.+)$/;
const visible = /^[\x20-\x7e]+$/;

/** Reads pairs as the standard writes them, with percent-encoded values. */
function headersOf(text: Secret | undefined): Readonly<Record<string, string>> {
  const pairs = text?.reveal().split(',') ?? [];
  return Object.fromEntries(
    pairs.map((each) => {
      const [, name, value = ''] = pair.exec(each.trim()) ?? [];
      const decoded = percentDecoded(value);
      if (name === undefined || decoded === undefined || !visible.test(decoded)) {
        throw new BusError('setting-invalid', {
          problems: ['OTEL_EXPORTER_OTLP_HEADERS: must be name=value,name=value'],
        });
      }
      return [name, decoded];
    }),
  );
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

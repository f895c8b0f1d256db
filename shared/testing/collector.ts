import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

const Value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.union([z.number(), z.string()]) }).transform(({ intValue }) => Number(intValue)),
  z
    .object({ arrayValue: z.object({ values: z.array(z.object({ stringValue: z.string() })) }) })
    .transform(({ arrayValue }) => arrayValue.values.map(({ stringValue }) => stringValue)),
]);
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .transform((pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, value])));
const instant = z.string().transform((nanos) => Number(BigInt(nanos) / 1_000n) / 1_000);

/** A span as it travels by OTLP in JSON, with instants in epoch milliseconds. */
const ReceivedSpan = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.int(),
  startTimeUnixNano: instant,
  endTimeUnixNano: instant,
  attributes: Attributes,
  events: z.array(z.object({ name: z.string(), timeUnixNano: instant })),
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })),
  status: z.object({ code: z.int() }),
});

const ExportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(ReceivedSpan) })),
    }),
  ),
});

/** A span that a collector was sent, with what its resource says. */
export type ReceivedSpan = z.infer<typeof ReceivedSpan> & {
  readonly resource: Readonly<Record<string, unknown>>;
};

/** A collector on the loopback interface that keeps what it gets. */
export interface TestCollector {
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[];
  readonly close: () => Promise<void>;
}

/** Starts a collector. `answer` ends each request; without it, all are taken. */
export async function startCollector(
  answer: (response: ServerResponse) => void = (response) => response.writeHead(200).end('{}'),
): Promise<TestCollector> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = ExportRequest.parse(await json(request));
    requests.push({ path: request.url, headers: request.headers });
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const scope of scopeSpans) {
        spans.push(...scope.spans.map((span) => ({ ...span, resource: resource.attributes })));
      }
    }
    answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    requests,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

import { createHmac, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** A recorded payload of a provider, ready to be signed and sent. */
export interface Sample {
  readonly name: string;
  readonly eventId: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const Fixture = z.object({
  name: z.string(),
  request: z.object({ headers: z.record(z.string(), z.string()) }),
  body: z.json(),
});

/** As things happen: first something is opened, last it is gone. */
const order = ['ping', 'opened', 'created', 'edited', 'submitted', 'requested', 'push', 'deleted'];

const rankOf = (name: string): number => order.findIndex((word) => name.includes(word));

/** The recorded payloads of GitHub, signed for a connection, in the order in which they could have come. */
export function githubSamples(connectionId: string, webhookSecret: string): readonly Sample[] {
  const folder = new URL('../../../shared/providers/github/fixtures/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith('.json') && !file.endsWith('.facts.json'));
  const sorted = files.toSorted((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
  return sorted.flatMap((file) => {
    const fixture = Fixture.safeParse(JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
    if (!fixture.success) return [];
    const { name, request, body } = fixture.data;
    const text = JSON.stringify(body);
    const eventId = randomUUID();
    const signature = createHmac('sha256', webhookSecret).update(text).digest('hex');
    return [
      {
        name,
        eventId,
        path: `/webhooks/v1/github/${connectionId}/events`,
        headers: {
          'content-type': 'application/json',
          'x-github-event': request.headers['x-github-event'] ?? 'unknown',
          'x-github-delivery': eventId,
          'x-hub-signature-256': `sha256=${signature}`,
        },
        body: text,
      },
    ];
  });
}

/** Sends a sample and answers the status. */
export async function sendSample(url: string, sample: Sample, timeoutMs: number): Promise<number> {
  const { path, headers, body } = sample;
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  await response.arrayBuffer();
  return response.status;
}

import { createHmac } from 'node:crypto';
import { expect } from 'vitest';

/** What signs the webhooks of a test's connections; in base64, since Standard Webhooks asks for that. */
export const webhookSecret = Buffer.alloc(24, 9).toString('base64');

/** The headers with which a sender signs a webhook as Standard Webhooks says. */
export function signedHeaders(id: string, body: string): Readonly<Record<string, string>> {
  const at = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', Buffer.from(webhookSecret, 'base64')).update(`${id}.${at}.${body}`);
  return {
    ...{ 'webhook-id': id, 'webhook-timestamp': String(at) },
    'webhook-signature': `v1,${signature.digest('base64')}`,
  };
}

/** The headers with which GitHub sends an event. */
export const githubHeaders = (event: string, delivery: string, body: string): Readonly<Record<string, string>> => ({
  ...{ 'x-github-event': event, 'x-github-delivery': delivery },
  'x-hub-signature-256': `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`,
});

/** Sends a webhook, and answers the id of its raw fact. */
export async function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<string> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  expect(answer.status).toBe(200);
  // The edge's own contract.
  return ((await answer.json()) as { readonly id: string }).id;
}

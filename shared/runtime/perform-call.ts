import type { CallAnswer, CallRequest } from '../stage/effects.ts';

/** The longest answer that is kept, in characters. */
const maxBody = 262_144;

/** Makes one provider call. Never rejects: no answer is an answer too. Redirects are not followed, credentials would go with them. */
export async function performCall({ method, url, headers, body, timeoutMs }: CallRequest): Promise<CallAnswer> {
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    return { status: response.status, headers: Object.fromEntries(response.headers), body: text.slice(0, maxBody) };
  } catch (error) {
    return { headers: {}, body: '', failure: error instanceof Error ? error.name : 'unknown' };
  }
}

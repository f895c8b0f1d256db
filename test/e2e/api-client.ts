import { signalboxJson } from '../integration/signalbox.ts';

/** What the API said. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Asks an API, as `PUT /agents/iris/…`, with a token of its own. */
export type Ask = (apiUrl: string, http: string, body?: unknown) => Promise<ApiAnswer>;

/** Makes a token that may do some things, and answers what asks with it. */
export async function askerWith(
  settings: Readonly<Record<string, string>>,
  name: string,
  scopes: readonly string[],
): Promise<Ask> {
  const typed = scopes.flatMap((scope) => ['--scope', scope]);
  // The command's own contract.
  const { token } = (await signalboxJson(settings, 'tokens', 'create', name, ...typed)) as { readonly token: string };
  return async (apiUrl, http, body) => {
    const [method = 'GET', path = ''] = http.split(' ');
    const answer = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as ApiAnswer['body'] };
  };
}

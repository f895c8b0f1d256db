import type { RawProviderFact } from '../../schemas/raw-provider-fact.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body as text; undefined when its bytes are not UTF-8, which JSON always is. */
export function bodyText({ body, bodyEncoding }: Pick<RawProviderFact, 'body' | 'bodyEncoding'>): string | undefined {
  if (bodyEncoding === 'utf-8') return body;
  try {
    return utf8.decode(Buffer.from(body, 'base64'));
  } catch (cause) {
    if (cause instanceof TypeError) return undefined;
    throw cause;
  }
}

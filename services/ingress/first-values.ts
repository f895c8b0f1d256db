/** Header names in lower case with their values; of a repeated header the first value counts. */
export function firstHeaders(rawHeaders: readonly string[]): Readonly<Record<string, string>> {
  const pairs: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    pairs.push([rawHeaders[index]?.toLowerCase() ?? '', rawHeaders[index + 1] ?? '']);
  }
  return firstOf(pairs);
}

/** The parameters of a query; of a repeated one the first value counts. */
export const firstParameters = (query: string): Readonly<Record<string, string>> => firstOf(new URLSearchParams(query));

function firstOf(pairs: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  const first = new Map<string, string>();
  for (const [name, value] of pairs) if (!first.has(name)) first.set(name, value);
  return Object.fromEntries(first);
}

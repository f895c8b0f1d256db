const escapes: Readonly<Record<string, string>> = { '%': '%25', '|': '%7C' };

/** Joins the parts of a key so that other parts never give the same text: providers choose some of them. */
export const rowKey = (...parts: readonly string[]): string =>
  parts.map((part) => part.replaceAll(/[%|]/g, (sign) => escapes[sign] ?? sign)).join('|');

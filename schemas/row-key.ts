const escapes: Readonly<Record<string, string>> = { '%': '%25', '|': '%7C' };

const escaped = (part: string): string =>
  // Most have nothing to escape, and this runs some ten times for a fact.
  part.includes('|') || part.includes('%') ? part.replaceAll(/[%|]/g, (sign) => escapes[sign] ?? sign) : part;

/** Joins the parts of a key so that other parts never give the same text: providers choose some of them. */
export const rowKey = (...parts: readonly string[]): string => parts.map(escaped).join('|');

/** The sum of all lines of one metric in the text format of Prometheus; undefined where there is none. */
export function metricIn(text: string, name: string): number | undefined {
  let sum: number | undefined;
  for (const line of text.split('\n')) {
    if (!line.startsWith(name)) continue;
    const rest = line.slice(name.length);
    if (rest[0] !== ' ' && rest[0] !== '{') continue;
    const value = Number(rest.slice(rest.lastIndexOf('}') + 1).trim());
    sum = (sum ?? 0) + value;
  }
  return sum;
}

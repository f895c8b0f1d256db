import { parseSpan } from '../time.ts';

const pattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)Z?)?$/;

/** Reads `2h` as two hours before now, and `2026-12-01 08:30Z`, always UTC, as it stands; undefined when it is neither. */
export function parseMoment(text: string, now: number): number | undefined {
  const back = parseSpan(text);
  if (back !== undefined) return now - back;
  const match = pattern.exec(text.trim());
  if (match === null) return undefined;
  const [, day = '', time = '00:00'] = match;
  const at = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(at) ? undefined : at;
}

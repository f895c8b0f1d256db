/** How a check ended: well, worth a look, or broken. */
export type Status = 'ok' | 'warning' | 'failed';

/** What was looked at and what was found. A check that is not well says what to do. */
export interface Check {
  readonly name: string;
  readonly status: Status;
  readonly summary: string;
  readonly details: readonly string[];
  readonly fix?: string;
}

/** Checks of one kind. */
export interface CheckGroup {
  readonly title: string;
  readonly checks: readonly Check[];
}

/** All is well. */
export const well = (name: string, summary: string): Check => ({ name, status: 'ok', summary, details: [] });

/** Something that is not well, and what to do about it. */
export interface Finding {
  readonly status: 'warning' | 'failed';
  readonly detail: string;
  readonly fix: string;
}

/** Something does not work. */
export const broken = (detail: string, fix: string): Finding => ({ status: 'failed', detail, fix });

/** Something works, and should be otherwise. */
export const doubtful = (detail: string, fix: string): Finding => ({ status: 'warning', detail, fix });

/** A check by the gravest of what was found; well when nothing was. */
export function checkOf(
  name: string,
  found: readonly Finding[],
  summaries: { readonly well: string; readonly notWell: string },
): Check {
  if (found.length === 0) return well(name, summaries.well);
  return {
    name,
    status: worstOf(found.map(({ status }) => status)),
    summary: summaries.notWell,
    details: found.map(({ detail }) => detail),
    fix: [...new Set(found.map(({ fix }) => fix))].join('\n'),
  };
}

/** The gravest of some. */
export const worstOf = (all: readonly Status[]): Status =>
  (['failed', 'warning'] as const).find((status) => all.includes(status)) ?? 'ok';

/** `1 record`, `2 records`. */
export const counted = (count: number | bigint, one: string): string =>
  `${count} ${one}${BigInt(count) === 1n ? '' : 's'}`;

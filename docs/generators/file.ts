/** A file that is made from declarations: its path below the repository's root, and its whole text. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

/** The repository's root. */
export const root = new URL('../../', import.meta.url);

/** Pretty JSON with a line end, as it is committed. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Orders texts the same on every machine. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

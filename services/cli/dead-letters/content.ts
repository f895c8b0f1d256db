/** What the bytes of a rejected record hold, read as far as they can be. */
export type Content =
  | { readonly type: 'none' }
  | { readonly type: 'frame'; readonly schemaId: number; readonly value: unknown }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'bytes'; readonly base64: string };

const frameBytes = 5;
const strict = new TextDecoder('utf-8', { fatal: true });

const textOf = (bytes: Buffer): string | undefined => {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};

/** The JSON in a frame, whatever its schema; a text that is none; else the bytes. */
export function contentOf(bytes: Buffer | undefined): Content {
  if (bytes === undefined) return { type: 'none' };
  const framed = bytes[0] === 0 && bytes.length > frameBytes ? textOf(bytes.subarray(frameBytes)) : undefined;
  if (framed !== undefined) {
    try {
      return { type: 'frame', schemaId: bytes.readInt32BE(1), value: JSON.parse(framed) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  const text = textOf(bytes);
  return text === undefined ? { type: 'bytes', base64: bytes.toString('base64') } : { type: 'text', text };
}

// Control characters but for tab and line feed, and what turns the direction of writing.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text from outside that may go to a terminal: what would steer it is written out. */
export const printable = (text: string): string =>
  text.replaceAll(unprintable, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { BusError } from '../../shared/errors.ts';
import { coloured, plain, type Style } from './style.ts';

/** Where a command meets a person. Results go to standard output, everything else to standard error. */
export interface Terminal {
  /** How standard output is marked up. */
  readonly style: Style;
  /** How standard error is. */
  readonly noteStyle: Style;
  readonly out: (text: string) => void;
  /** Something to know, beside the result. */
  readonly note: (text: string) => void;
  /** What is being done now; undefined when it is over. Shown on a terminal only. */
  readonly progress: (text: string | undefined) => void;
  /** Asks; false where nobody can answer. */
  readonly confirm: (question: string) => Promise<boolean>;
  /** Reads a secret without showing it; from a pipe, all that comes. */
  readonly readSecret: (question: string) => Promise<string>;
}

/** What of the process a terminal needs. */
export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** A terminal over the streams of a process. `noColor`: the person asked for none. */
export function createTerminal({ stdin, stdout, stderr }: Streams, noColor: boolean): Terminal {
  let shown = false;
  const clear = () => {
    if (shown) stderr.write('\r\u001b[2K');
    shown = false;
  };
  return {
    style: stdout.isTTY && !noColor ? coloured : plain,
    noteStyle: stderr.isTTY && !noColor ? coloured : plain,
    out(text) {
      clear();
      stdout.write(`${text}\n`);
    },
    note(text) {
      clear();
      stderr.write(`${text}\n`);
    },
    progress(text) {
      if (!stderr.isTTY) return;
      clear();
      if (text === undefined) return;
      stderr.write(text.slice(0, (stderr.columns || 80) - 1));
      shown = true;
    },
    async confirm(question) {
      if (!stdin.isTTY) return false;
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
      } finally {
        lines.close();
      }
    },
    async readSecret(question) {
      if (!stdin.isTTY) return readAll(stdin);
      stderr.write(`${question}: `);
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      const lines = createInterface({ input: stdin, output: nowhere, terminal: true });
      // Here Ctrl-C reaches the reader and not the process.
      const interrupted = new Promise<never>((_, reject) => {
        lines.once('SIGINT', () => reject(new BusError('input-invalid', { problem: 'interrupted' })));
      });
      try {
        return await Promise.race([lines.question(''), interrupted]);
      } finally {
        lines.close();
        stderr.write('\n');
      }
    },
  };
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

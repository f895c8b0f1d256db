import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** Sends one command to Redis and answers its reply. */
export type Command = (name: string, args: readonly (string | number)[]) => Promise<unknown>;

/** A Lua script; its reply is parsed. */
export type Script<Reply> = (command: Command, keys: readonly string[], args: readonly string[]) => Promise<Reply>;

/** Loads the script of this name beside this file. Redis is sent its text only when it does not remember it. */
export function loadScript<Reply>(name: string, reply: z.ZodType<Reply>): Script<Reply> {
  const text = readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');
  const digest = createHash('sha1').update(text).digest('hex');
  return async (command, keys, args) => {
    const rest = [keys.length, ...keys, ...args];
    try {
      return reply.parse(await command('EVALSHA', [digest, ...rest]));
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return reply.parse(await command('EVAL', [text, ...rest]));
    }
  };
}

import { Redis } from 'ioredis';

/** A row as it is kept: its value, and when it ends in message time. */
export interface Row {
  readonly v: unknown;
  readonly x?: number;
}

/** Rows by `<stage>/<partition>/<projection>:<key>`. */
export type Rows = ReadonlyMap<string, Row>;

/** The name under which Redis keeps a row. */
export const redisKey = (generation: number, name: string): string => {
  const [, stage, partition, row] = /^([^/]+)\/(\d+)\/(.*)$/s.exec(name) ?? [];
  return `sb:${generation}:{${stage}:${partition}}:${row}`;
};

/** The rows of some stages, as Redis has them now: all of them, those of one partition, or those that concern somebody. */
export async function readRows(
  redisUrl: string,
  stages: readonly string[],
  wanted: { readonly partition?: number; readonly concerns?: (name: string) => boolean } = {},
): Promise<Rows> {
  const { partition: only = '*', concerns = () => true } = wanted;
  const redis = new Redis(redisUrl);
  const rows = new Map<string, Row>();
  try {
    for (const stage of stages) {
      const prefix = new RegExp(`^sb:(\\d+):\\{${stage}:(\\d+)\\}:([^:]+:.*)$`, 's');
      const inUse = new Map<string, string>();
      for await (const found of redis.scanStream({ match: `sb:*:{${stage}:${only}}:*`, count: 1_000 })) {
        // Keys come as texts, in lists of any length; the same one may come twice.
        const parsed = (found as string[]).flatMap((key) => {
          const [, generation, partition = '', row] = prefix.exec(key) ?? [];
          return row === undefined ? [] : [{ key, generation, partition, name: `${stage}/${partition}/${row}` }];
        });
        for (const { partition } of parsed) {
          if (inUse.has(partition)) continue;
          inUse.set(partition, (await redis.hget(`sb:generations:{${stage}:${partition}}`, 'inUse')) ?? '1');
        }
        const named = parsed.filter(
          ({ generation, partition, name }) => generation === inUse.get(partition) && concerns(name),
        );
        if (named.length === 0) continue;
        const texts = await redis.mget(named.map(({ key }) => key));
        for (const [index, { name }] of named.entries()) {
          const text = texts[index];
          // The one form in which rows are kept.
          if (typeof text === 'string') rows.set(name, JSON.parse(text) as Row);
        }
      }
    }
  } finally {
    redis.disconnect();
  }
  return rows;
}

/** When each timer is due that is set, by `<stage>/<partition>/<key>`. */
export type Timers = ReadonlyMap<string, number>;

/** The timers of a stage that concern somebody, as Redis has them now. */
export async function readTimers(
  redisUrl: string,
  stage: string,
  concerns: (name: string) => boolean = () => true,
): Promise<Timers> {
  const redis = new Redis(redisUrl);
  try {
    const timers = new Map<string, number>();
    const pattern = new RegExp(`^sb:(\\d+):\\{${stage}:(\\d+)\\}:due-times$`);
    for (const key of await redis.keys(`sb:*:{${stage}:*}:due-times`)) {
      const [, generation, partition = ''] = pattern.exec(key) ?? [];
      const inUse = (await redis.hget(`sb:generations:{${stage}:${partition}}`, 'inUse')) ?? '1';
      if (generation !== inUse) continue;
      const found = await redis.zrange(key, '0', '-1', 'WITHSCORES');
      for (let at = 0; at < found.length; at += 2) {
        const name = `${stage}/${partition}/${found[at]}`;
        if (concerns(name)) timers.set(name, Number(found[at + 1]));
      }
    }
    return timers;
  } finally {
    redis.disconnect();
  }
}

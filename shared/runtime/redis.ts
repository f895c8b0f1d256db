import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { BusError } from '../errors.ts';
import type { RedisSettings } from './connection-settings.ts';
import type { Log } from './log.ts';
import { type Command, loadScript } from './lua/script.ts';
import type { SaveResult, Slot, SlotChanges, Store, StoredTimer, Watermark } from './store.ts';

const saveScript = loadScript('save', z.string());
const openScript = loadScript('open', z.array(z.string()).min(2));
const dueScript = loadScript('due', z.array(z.string()));
const viewScript = loadScript('view', z.array(z.string().nullable()));

const StoredTimerText = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.object({ key: z.string(), id: z.string(), dueAt: z.number(), json: z.string() }));
const WatermarkText = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.object({ offset: z.string(), effects: z.array(z.string()) }));
const Texts = z.array(z.string().nullable());

const connectTimeoutMs = 5_000;
// A save of thousands of rows takes a tenth of a second; a Redis that is silent for longer is one that is away.
const commandTimeoutMs = 10_000;
const longestReconnectMs = 2_000;

/** The state of stages in Redis. Rejects with `infrastructure-unavailable` when it does not answer; later it reconnects by itself. */
export async function createRedisStore(settings: RedisSettings, log: Log): Promise<Store> {
  const redis = new Redis(settings.url, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    // Who waits, and for how long, is the shell's to say: a command is sent now or rejected now, and never sent twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(100 * 2 ** Math.min(attempt, 10), longestReconnectMs),
    // A primary that became a replica: the address leads to its successor.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...(settings.username !== undefined && { username: settings.username }),
    ...(settings.password !== undefined && { password: settings.password.reveal() }),
    ...(settings.tlsCaFile !== undefined && { tls: { ca: await readFile(settings.tlsCaFile, 'utf8') } }),
  });
  let lost: Error | undefined;
  redis.on('error', (error: Error) => {
    // Once for each time away, however often it is tried.
    if (lost === undefined) log.warn({ system: 'redis', reason: error.message }, 'connection failed');
    lost = error;
  });
  redis.on('ready', () => {
    if (lost !== undefined) log.info({ system: 'redis' }, 'connected again');
    lost = undefined;
  });

  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    // What the client rejects with says only that it is closed.
    throw failureOf('connect', lost ?? error);
  }

  const command: Command = (name, args) => redis.call(name, [...args]);

  const asking = async <T>(operation: string, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      throw failureOf(operation, error);
    }
  };

  return {
    check: () =>
      asking('check', async () => {
        const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
        if (policy !== 'noeviction') throw new BusError('redis-may-evict', { policy: policy ?? 'unknown' });
      }),

    generation: (stage) => asking('generation', async () => Number((await redis.get(generationKey(stage))) ?? 1)),

    open: (slot) =>
      asking('open', async () => {
        const keys = keysOf(slot);
        const [fence = '-1', at = '0', ...watermarks] = await openScript(command, [keys.position, keys.watermarks], []);
        return { fence: BigInt(fence), at: Number(at), watermarks: parseWatermarks(watermarks) };
      }),

    fence: (slot) => asking('fence', async () => BigInt((await redis.hget(keysOf(slot).position, 'fence')) ?? '-1')),

    load: (slot, rows) =>
      asking('load', async () => {
        if (rows.length === 0) return [];
        const keys = keysOf(slot);
        return Texts.parse(await command('MGET', rows.map(keys.row))).map((text) => text ?? undefined);
      }),

    view: (slot, wanted) =>
      asking('view', async () => {
        const keys = keysOf(slot);
        const names = [keys.position, keys.timers, ...wanted.rows.map(keys.row)];
        const [fence, ...found] = await viewScript(command, names, wanted.timers);
        const texts = found.map((text) => text ?? undefined);
        return {
          fence: BigInt(fence ?? '-1'),
          rows: texts.slice(0, wanted.rows.length),
          timers: texts.slice(wanted.rows.length).map((text) => (text === undefined ? undefined : parseTimer(text))),
        };
      }),

    save: (slot, expected, changes) =>
      asking('save', async () => {
        const { keys, args } = saveArguments(slot, expected, changes);
        return resultOf(expected, await saveScript(command, keys, args));
      }),

    due: (slot, at, limit) =>
      asking('due', async () => {
        const keys = keysOf(slot);
        const found = await dueScript(command, [keys.dueTimes, keys.timers], [String(at), String(limit)]);
        return found.map(parseTimer);
      }),

    async close() {
      if (redis.status === 'ready') await redis.quit();
      else redis.disconnect();
    },
  };
}

const generationKey = (stage: string): string => `sb:generation:${stage}`;

/** All keys of a slot share the part in braces, and so one hash slot of a cluster. Rows hold a second colon, the others none. */
function keysOf({ stage, partition, generation }: Slot) {
  const prefix = `sb:${generation}:{${stage}:${partition}}`;
  return {
    position: `${prefix}:position`,
    watermarks: `${prefix}:watermarks`,
    dueTimes: `${prefix}:due-times`,
    timers: `${prefix}:timers`,
    row: (row: string) => `${prefix}:${row}`,
  };
}

function saveArguments(slot: Slot, expected: bigint, changes: SlotChanges) {
  const { position, watermarks, dueTimes, timers, row } = keysOf(slot);
  const keys = [position, watermarks, dueTimes, timers];
  const args = [expected, changes.fence, changes.at, changes.watermarks.size, changes.timers.length].map(String);
  for (const [source, { offset, effects }] of changes.watermarks) {
    args.push(source, JSON.stringify({ offset: String(offset), effects }));
  }
  for (const write of changes.timers) {
    if ('set' in write) args.push(write.set.key, String(write.set.dueAt), JSON.stringify(write.set));
    else args.push(write.clear, '', '');
  }
  for (const write of changes.rows) {
    keys.push(row(write.row));
    if (write.json === undefined) args.push('', '');
    else args.push(String(lifetimeOf(write.lifetimeMs)), write.json);
  }
  return { keys, args };
}

/** Whole milliseconds, at least one; 0 for ever. */
const lifetimeOf = (ms: number | undefined): number => (ms === undefined ? 0 : Math.max(1, Math.ceil(ms)));

function resultOf(expected: bigint, reply: string): SaveResult {
  if (reply === '') return { type: 'saved' };
  const fence = BigInt(reply);
  return { type: fence < expected ? 'behind' : 'ahead', fence };
}

function parseWatermarks(flat: readonly string[]): ReadonlyMap<string, Watermark> {
  const watermarks = new Map<string, Watermark>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const { offset, effects } = WatermarkText.parse(flat[index + 1]);
    watermarks.set(flat[index] ?? '', { offset: BigInt(offset), effects });
  }
  return watermarks;
}

const parseTimer = (text: string): StoredTimer => StoredTimerText.parse(text);

// Redis answers, but cannot do it now, or not for us: a matter of its state or of the settings, not of the command.
const unable =
  /^(OOM|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOAUTH|WRONGPASS|NOPERM|MISCONF|NOREPLICAS)\b/;

/** A failure as the port promises it. What Redis says of the command itself is a fault of ours and passes through. */
function failureOf(operation: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof BusError || error instanceof z.ZodError) return error;
  // The client attaches the command, and its arguments are rows: nothing for a log.
  Reflect.deleteProperty(error, 'command');
  if (error.name === 'ReplyError' && !unable.test(error.message)) return error;
  return new BusError('infrastructure-unavailable', { system: 'redis', operation, reason: error.message }, error);
}

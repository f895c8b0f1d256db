import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { BusError } from '../errors.ts';
import type { RedisSettings } from './connection-settings.ts';
import type { Log } from './log.ts';
import { type Command, loadScript } from './lua/script.ts';
import type {
  Generations,
  SaveResult,
  Slot,
  SlotChanges,
  StatePartition,
  Store,
  StoredTimer,
  Watermark,
} from './store.ts';

const saveScript = loadScript('save', z.string());
const openScript = loadScript('open', z.array(z.string()).min(2));
const dueScript = loadScript('due', z.array(z.string()));
const viewScript = loadScript('view', z.array(z.string().nullable()));
const loadRowsScript = loadScript('load', z.array(z.string().nullable()));
const generationsScript = loadScript('generations', z.array(z.string()).length(5));
const discardScript = loadScript('discard', z.number());

const StoredTimerText = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.object({ key: z.string(), id: z.string(), dueAt: z.number(), json: z.string() }));
const WatermarkText = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.object({ offset: z.string(), effects: z.array(z.string()) }));
const ScanReply = z.tuple([z.string(), z.array(z.string())]);

const connectTimeoutMs = 5_000;
// A save of thousands of rows takes a tenth of a second; a Redis that is silent for longer is one that is away.
const commandTimeoutMs = 10_000;
const longestReconnectMs = 2_000;
/** Keys looked at in one step of a scan. */
const scanCount = 500;

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

    inspect: () =>
      asking('inspect', async () => {
        // One command each: managed services refuse `INFO` with several sections, and `CONFIG` altogether.
        const info = [await redis.info('server'), await redis.info('memory'), await redis.info('persistence')].join(
          '\n',
        );
        const [seconds, micros] = await redis.time();
        const of = (name: string): string => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? '';
        return {
          version: of('redis_version'),
          evictionPolicy: of('maxmemory_policy'),
          appendOnly: of('aof_enabled') === '1',
          appendsWell: of('aof_last_write_status') !== 'err',
          usedBytes: Number(of('used_memory')),
          maxBytes: Number(of('maxmemory')),
          at: Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000),
        };
      }),

    generations: (at, step) =>
      asking('generations', async () => {
        const number = step === undefined || step.do === 'conclude' ? '' : String(step.generation);
        return parseGenerations(
          await generationsScript(command, [generationsKey(at)], [slotTag(at), step?.do ?? '', number]),
        );
      }),

    discard: ({ stage, partitions }) =>
      asking('discard', async () => {
        let removed = 0;
        const discard = async (slot: Slot, keys: readonly string[]): Promise<void> => {
          removed += await discardScript(command, [generationsKey(slot), ...keys], [String(slot.generation)]);
        };
        // Positions go first: whoever still decides on such rows finds its fence gone before a row is.
        for (let partition = 0; partition < partitions; partition++) {
          const at = { stage, partition };
          const { newest } = parseGenerations(
            await generationsScript(command, [generationsKey(at)], [slotTag(at), '']),
          );
          for (let generation = 1; generation <= newest; generation++) {
            const { position, watermarks, dueTimes, timers } = keysOf({ ...at, generation });
            await discard({ ...at, generation }, [position, watermarks, dueTimes, timers]);
          }
        }
        const pattern = `sb:*:{${stage.replaceAll(/[*?[\]\\]/g, '\\$&')}:*`;
        for (let cursor = '0', done = false; !done; done = cursor === '0') {
          const [next, keys] = ScanReply.parse(await command('SCAN', [cursor, 'MATCH', pattern, 'COUNT', scanCount]));
          cursor = next;
          for (const [prefix, mine] of Map.groupBy(keys, (key) => slotOfKey.exec(key)?.[0])) {
            const [, generation, of, partition] = slotOfKey.exec(prefix ?? '') ?? [];
            if (of !== stage) continue;
            await discard({ stage, partition: Number(partition), generation: Number(generation) }, mine);
          }
        }
        return removed;
      }),

    open: (slot) =>
      asking('open', async () => {
        const keys = keysOf(slot);
        const [fence = '-1', at = '0', ...watermarks] = await openScript(command, [keys.position, keys.watermarks], []);
        return { fence: BigInt(fence), at: Number(at), watermarks: parseWatermarks(watermarks) };
      }),

    fence: (slot) =>
      asking('fence', async () => {
        const [fence, generation] = await Promise.all([
          redis.hget(keysOf(slot).position, 'fence'),
          redis.hget(generationsKey(slot), standingOf(slot)),
        ]);
        const standing = generation ?? (slot.draft === true ? undefined : '1');
        return standing === String(slot.generation) ? BigInt(fence ?? '-1') : undefined;
      }),

    load: (at, rows) =>
      asking('load', async () => {
        if (rows.length === 0) return [];
        const found = await loadRowsScript(command, [generationsKey(at)], [slotTag(at), ...rows]);
        return rows.map((_, index) => found[index] ?? undefined);
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

/** All keys of a partition share the part in braces, and so one hash slot of a cluster. */
const slotTag = ({ stage, partition }: StatePartition): string => `{${stage}:${partition}}`;

const generationsKey = (at: StatePartition): string => `sb:generations:${slotTag(at)}`;

/** What a generation has to be for its slot to be written. */
const standingOf = ({ draft }: Slot): 'inUse' | 'draft' => (draft === true ? 'draft' : 'inUse');

/** What the keys of a slot begin with: generation, stage and partition. */
const slotOfKey = /^sb:(\d+):\{([^{}]+):(\d+)\}:/;

/** The keys of a slot. Rows hold another colon, the others none. */
function keysOf(slot: Slot) {
  const prefix = `sb:${slot.generation}:${slotTag(slot)}`;
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
  const keys = [position, watermarks, dueTimes, timers, generationsKey(slot)];
  const args = [expected, changes.fence, changes.at, changes.watermarks.size, changes.timers.length].map(String);
  args.push(String(slot.generation), standingOf(slot));
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
  if (reply === 'retired') return { type: 'retired' };
  const fence = BigInt(reply);
  return { type: fence < expected ? 'behind' : 'ahead', fence };
}

function parseGenerations([inUse, draft, previous, upTo, newest]: readonly string[]): Generations {
  return {
    inUse: Number(inUse),
    draft: draft === '' ? undefined : Number(draft),
    previous: previous === '' ? undefined : { generation: Number(previous), fence: BigInt(upTo ?? '') },
    newest: Number(newest),
  };
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

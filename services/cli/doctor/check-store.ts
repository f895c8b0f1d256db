import { errors } from '../../../shared/errors.ts';
import type { StoreInspection } from '../../../shared/runtime/store.ts';
import { broken, type Check, checkOf, doubtful, type Finding, well } from './check.ts';

/** A store that may evict would forget fences, and with them what was done. */
export function checkEviction({ evictionPolicy }: Pick<StoreInspection, 'evictionPolicy'>): Check {
  if (evictionPolicy === 'noeviction') return well('eviction', evictionPolicy);
  const { meaning, fix } = errors['redis-may-evict'];
  return { name: 'eviction', status: 'failed', summary: evictionPolicy, details: [meaning], fix };
}

/** What Redis loses in a restart is folded again: right, and slow. */
export function checkPersistence({
  appendOnly,
  appendsWell,
}: Pick<StoreInspection, 'appendOnly' | 'appendsWell'>): Check {
  const found: Finding[] = [];
  if (!appendOnly) {
    const detail = 'A restart of Redis loses all state; stages then fold what the topics still hold.';
    found.push(doubtful(detail, 'Set `appendonly yes` and `appendfsync everysec`.'));
  } else if (!appendsWell) {
    found.push(broken('Redis could not write its file.', 'Look at the disk of Redis.'));
  }
  return checkOf('persistence', found, { well: 'AOF', notWell: appendOnly ? 'the last write failed' : 'no AOF' });
}

const crowded = 0.8;
const full = 0.95;

/** A full Redis refuses writes, and then the stages wait. */
export function checkMemory({ usedBytes, maxBytes }: Pick<StoreInspection, 'usedBytes' | 'maxBytes'>): Check {
  const used = `${mebibytes(usedBytes)} used`;
  if (maxBytes === 0) return well('memory', `${used}, no limit`);
  const share = usedBytes / maxBytes;
  const report = share < full ? doubtful : broken;
  const found =
    share < crowded
      ? []
      : [
          report(
            'A full Redis refuses writes, and the stages wait.',
            'Raise `maxmemory`, or give Redis a larger machine.',
          ),
        ];
  const summary = `${used} of ${mebibytes(maxBytes)}`;
  return checkOf('memory', found, { well: summary, notWell: summary });
}

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;

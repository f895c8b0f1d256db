import type { Connection } from '../../schemas/connection.ts';
import {
  type AdapterFailures,
  adapterFailures,
  type ConnectionState,
  connectionStates,
} from '../../schemas/connection-state.ts';
import { outageOf } from '../../shared/availability.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { type Effect, emit, put, remove } from '../../shared/stage/index.ts';
import type { Settings } from './config.ts';

/** What is known of a connection when one of its deliveries was read, or could not be. */
export interface Known {
  readonly connection: Connection;
  readonly state: ConnectionState | undefined;
  readonly row: AdapterFailures | undefined;
  readonly at: number;
}

/** As long as raw facts are kept: failures that lie further apart say nothing together. */
const keptMs = 7 * 24 * 3_600_000;

/** What an operator has to know of the last failure, by its code. */
const meanings: { readonly [code in ErrorCode]?: string } = {
  'payload-invalid': 'they are not what its provider documents',
  'adapter-failed': 'its provider module throws',
  'contract-violated': 'its settings do not fit its provider any more, save it again',
};

function reasonOf(code: ErrorCode, failures: number): string {
  const meaning = meanings[code];
  const told = meaning === undefined ? code : `${code}, ${meaning}`;
  return `${failures} deliveries in a row could not be read, the last one: ${told}`;
}

/** Counts a delivery that could not be read. At the limit, and where a try fails, the connection is unavailable. */
export function afterFailure(code: ErrorCode, known: Known, settings: Settings): readonly Effect[] {
  const { connection, state, row, at } = known;
  const { maxAdapterFailures: limit, probeAfterMs } = settings;
  if (limit === 0) return [];
  const place = adapterFailures.at(connection.id);
  const outage = outageOf(state, connection);
  // What failed before the connection was saved, or before it could be read again elsewhere, says nothing of now.
  const recovered = state?.unavailableReason === null ? state.since : 0;
  const goesOn = row !== undefined && row.failures > 0 && row.since >= Math.max(connection.updatedAt, recovered);
  const streak: AdapterFailures = goesOn ? row : { failures: 0, since: at };

  const failures = streak.failures + 1;
  const isOpen = at < Math.max(streak.until ?? 0, outage?.until ?? 0);
  if (isOpen || (failures < limit && outage === undefined)) {
    return [put(place, { ...streak, failures }, at + keptMs)];
  }
  const until = at + probeAfterMs;
  const told = Math.max(failures, outage?.failures ?? 0);
  return [
    put(place, { ...streak, failures, until }, at + keptMs),
    emit(
      connectionStates,
      {
        connectionId: connection.id,
        unavailableReason: reasonOf(code, told),
        since: outage?.since ?? at,
        until,
        failures: told,
        updatedAt: at,
      },
      'connection-state',
    ),
  ];
}

/** Ends the row of failures. Where the connection is unavailable, and it was time to try, it is available again. */
export function afterSuccess({ connection, state, row, at }: Known): readonly Effect[] {
  const outage = outageOf(state, connection);
  if (row === undefined && outage === undefined) return [];
  const place = adapterFailures.at(connection.id);
  if (outage === undefined || at < outage.until) return row === undefined ? [] : [remove(place)];
  // Told already, of this outage: the table is a moment behind.
  if (row?.failures === 0 && row.since === outage.since) return [];
  return [
    put(place, { failures: 0, since: outage.since }, at + keptMs),
    emit(
      connectionStates,
      { connectionId: connection.id, unavailableReason: null, since: at, until: at, failures: 0, updatedAt: at },
      'connection-state',
    ),
  ];
}

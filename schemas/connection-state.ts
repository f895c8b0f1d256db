import { z } from 'zod';
import { defineLocalProjection, defineTopic } from './define.ts';
import { ConnectionId } from './ids.ts';

const instant = z.int().nonnegative();

/**
 * Whether what comes through a connection can be read, as the normalizer finds. A record of its own beside the connection and
 * its bindings, so that what the system finds never overwrites what a person saves. While there is a reason, the bindings
 * of the connection take no facts before `until`; from then on facts pass, to try: one that can be read takes the reason away.
 */
export const ConnectionState = z.object({
  connectionId: ConnectionId,
  unavailableReason: z.string().min(1).max(500).nullable(),
  /** When it became as it is. */
  since: instant,
  until: instant,
  /** Deliveries in a row that could not be read, where it was found. */
  failures: z.int().nonnegative(),
  updatedAt: instant,
});
export type ConnectionState = z.infer<typeof ConnectionState>;

/** What the system found of each connection that had trouble. */
export const connectionStates = defineTopic<ConnectionState>({
  name: 'connection-states',
  summary:
    'Connections whose deliveries could not be read, several in a row: why, and until when their bindings take no facts.',
  value: ConnectionState,
  key: (state) => state.connectionId,
  keep: 'compacted',
  example: ConnectionState.parse({
    connectionId: 'octo',
    unavailableReason: '10 deliveries in a row could not be read, the last one: payload-invalid',
    since: 1_929_952_800_000,
    until: 1_929_952_860_000,
    failures: 10,
    updatedAt: 1_929_952_800_000,
  }),
});

/**
 * Deliveries of one connection that could not be read, in a row, within one partition: how many, since when, and until when the
 * connection was called unavailable for them. Without failures: which outage was called over here, by its `since`.
 */
export const AdapterFailures = z.object({
  failures: z.int().nonnegative(),
  since: instant,
  until: instant.optional(),
});
export type AdapterFailures = z.infer<typeof AdapterFailures>;

/** The failures in a row of each connection. A partition counts its own: a connection's deliveries come in all of them. */
export const adapterFailures = defineLocalProjection({
  name: 'adapter-failures',
  stage: 'normalizer',
  summary: 'How many deliveries of each connection could not be read, in a row, within the partition.',
  value: AdapterFailures,
});

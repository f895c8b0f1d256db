import type { Binding } from '../schemas/binding.ts';
import type { Connection } from '../schemas/connection.ts';
import type { ConnectionState } from '../schemas/connection-state.ts';

/** What the system found of a connection whose deliveries cannot be read. */
export type Outage = ConnectionState & { readonly unavailableReason: string };

type Saved = { readonly updatedAt: number } | undefined;

/** The outage that is in force. A save of what it concerns has ended one that began before: it may have been the repair. */
export function outageOf(state: ConnectionState | undefined, ...saved: readonly Saved[]): Outage | undefined {
  if (state === undefined || state.unavailableReason === null) return undefined;
  if (saved.some((row) => row !== undefined && row.updatedAt > state.since)) return undefined;
  return { ...state, unavailableReason: state.unavailableReason };
}

/**
 * Why a binding takes no facts: what was said of it itself, else what the system found of its connection. With `at`, null where
 * facts pass at that instant, to try; without, as people are shown it: until one could be read.
 */
export function unavailableReasonOf(
  binding: Binding,
  of: {
    readonly connection: Connection | undefined;
    readonly state: ConnectionState | undefined;
    readonly at?: number;
  },
): string | null {
  if (binding.unavailableReason !== null) return binding.unavailableReason;
  const outage = outageOf(of.state, binding, of.connection);
  if (outage === undefined || (of.at !== undefined && of.at >= outage.until)) return null;
  return outage.unavailableReason;
}

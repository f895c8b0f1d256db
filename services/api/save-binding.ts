import type { Binding } from '../../schemas/binding.ts';
import { bindingKey } from '../../schemas/binding.ts';
import type { Connection } from '../../schemas/connection.ts';
import { sealConnection, secretNames } from '../../shared/connection.ts';
import { BusError } from '../../shared/errors.ts';
import { type GroupMessageMode, modesOf, policyOf } from '../../shared/group-message-mode.ts';
import { type Caller, mayActFor } from '../../shared/operation.ts';
import type { AnyProvider } from '../../shared/provider.ts';
import type { ApiWorld, Writes } from './world.ts';

type Config = Readonly<Record<string, unknown>>;

/** The adapter of a name. Throws `signal_adapter_not_found`. */
export function adapterOf({ adapters }: Pick<ApiWorld, 'adapters'>, adapterId: string): AnyProvider {
  const adapter = adapters.get(adapterId);
  if (adapter === undefined) throw new BusError('signal_adapter_not_found', { adapterId });
  return adapter;
}

/** The binding of an agent and name. Throws `binding-not-found`. */
export function bindingOf(
  { bindings }: Pick<ApiWorld, 'bindings'>,
  { agentUid, bindingName }: { readonly agentUid: string; readonly bindingName: string },
): Binding {
  const binding = bindings.get(bindingKey({ agentUid, name: bindingName }));
  if (binding === undefined) throw new BusError('binding-not-found', { agentUid, bindingName });
  return binding;
}

/** The policy of a mode that the adapter has. Throws `unsupported_group_message_mode`. */
export function supportedPolicy(
  adapter: AnyProvider,
  mode: GroupMessageMode,
): Binding['unaddressedGroupMessagePolicy'] {
  const modes = modesOf(adapter);
  if (!modes.includes(mode)) throw new BusError('unsupported_group_message_mode', { mode, supported: modes });
  return policyOf(mode);
}

/** An instant for the next version of a row: later than the one that is there, whatever the clock says. */
export const versionAfter = (row: { readonly updatedAt: number } | undefined, now: number): number =>
  Math.max(now, (row?.updatedAt ?? 0) + 1);

/** A patch of settings laid over the stored ones: objects member by member, and null takes a member away. */
export function patched(stored: Config, patch: Config): Config {
  const result: Record<string, unknown> = { ...stored };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = isObject(value) ? patched(isObject(stored[name]) ? stored[name] : {}, value) : value;
  }
  return result;
}

const isObject = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a binding wants of its connection. `how`: whether open settings are replaced or laid over the stored ones. */
interface WantedConnection {
  readonly adapter: AnyProvider;
  readonly connectionId: string;
  readonly config: Config | undefined;
  readonly how: 'replace' | 'patch';
  readonly caller: Caller;
}

/**
 * Makes sure of the connection that a binding names: it exists, is of the adapter, and is the caller's to use; with a
 * config it is written first. A binding whose connection was written and which then was not leaves no harm.
 */
export async function saveConnection(world: ApiWorld, writes: Writes, wanted: WantedConnection): Promise<Connection> {
  const { adapter, connectionId, config, caller } = wanted;
  const existing = world.connections.get(connectionId);
  if (existing !== undefined && existing.provider !== adapter.name) {
    throw new BusError('connection-adapter-mismatch', { connectionId, adapter: existing.provider });
  }
  // An empty patch says nothing; an empty replacement takes all open settings away.
  const changes = config !== undefined && (wanted.how === 'replace' || Object.keys(config).length > 0);
  refuseForeign(world, { connectionId, caller, changes, exists: existing !== undefined });
  if (existing !== undefined && !changes) return existing;
  if (config === undefined || !changes) throw new BusError('connection-not-found', { connectionId });
  if (!caller.scopes.includes('connections:write')) throw new BusError('scope-missing', { scope: 'connections:write' });

  const hidden = new Set(secretNames(adapter));
  const open = Object.fromEntries(Object.entries(config).filter(([name]) => !hidden.has(name)));
  const secrets = Object.fromEntries(Object.entries(config).filter(([name]) => hidden.has(name)));
  const shown = wanted.how === 'patch' ? patched(existing?.config ?? {}, open) : open;
  const connection = sealConnection(
    { id: connectionId, config: { ...shown, ...secrets } },
    { provider: adapter, existing, keys: world.keys, now: versionAfter(existing, world.now()) },
  );
  await writes.putConnection(connection);
  return connection;
}

/**
 * A connection brings its facts to whoever binds it, and its settings are those of all its bindings. So a token for some
 * agents may bind what one of them has already, or what it makes itself, and may change what no other agent has.
 */
function refuseForeign(
  { bindings }: ApiWorld,
  of: {
    readonly connectionId: string;
    readonly caller: Caller;
    readonly changes: boolean;
    readonly exists: boolean;
  },
): void {
  if (of.caller.agents === null) return;
  const users = bindings.by(of.connectionId);
  const mine = users.filter(({ agentUid }) => mayActFor(of.caller, agentUid));
  // Bindings may wait for a connection that is not there: who made it would choose what they get.
  const alone = mine.length === users.length;
  const enough = of.exists ? mine.length > 0 && (alone || !of.changes) : alone;
  if (!enough) throw new BusError('connection-forbidden', { connectionId: of.connectionId });
}

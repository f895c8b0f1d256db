import type { Connection } from '../../schemas/connection.ts';
import { openConnection } from '../../shared/connection.ts';
import type { AnyProvider } from '../../shared/provider.ts';
import type { KeyRing } from '../../shared/sealing.ts';
import type { Table } from '../../shared/stage/index.ts';

/** The parts of a webhook's URL. */
export interface WebhookPath {
  readonly handlerId: string;
  readonly instanceId: string;
  readonly kind: string;
}

/** What a URL names: a provider and one account there. */
export interface Target {
  readonly provider: AnyProvider;
  readonly connection: Connection;
}

/** Finds what URLs name, and the settings that may have signed a request to it. */
export interface Targets {
  readonly find: (path: WebhookPath) => Target | undefined;
  /** One for each stored secret. Throws `key-missing`, `seal-broken` or `contract-violated`. */
  readonly configsOf: (target: Target) => readonly unknown[];
}

// The callbacks that agents make live under this name; no provider may take it.
const reservedHandler = 'event-callbacks';

export function createTargets(options: {
  readonly providers: ReadonlyMap<string, AnyProvider>;
  readonly connections: Pick<Table<Connection>, 'get'>;
  readonly keys: KeyRing;
}): Targets {
  // A newer version of a connection is another object, so the secrets of an old one are forgotten with it.
  const opened = new WeakMap<Connection, readonly unknown[]>();

  return {
    find({ handlerId, instanceId, kind }) {
      const provider = handlerId === reservedHandler ? undefined : options.providers.get(handlerId);
      const connection = options.connections.get(instanceId);
      if (provider === undefined || connection?.provider !== provider.name) return undefined;
      return provider.kinds.includes(kind) ? { provider, connection } : undefined;
    },
    configsOf({ provider, connection }) {
      const known = opened.get(connection);
      if (known !== undefined) return known;
      const configs: readonly unknown[] = openConnection(connection, provider, options.keys);
      opened.set(connection, configs);
      return configs;
    },
  };
}

import type { Binding } from '../../../schemas/binding.ts';
import type { Connection } from '../../../schemas/connection.ts';
import type { ConnectionState } from '../../../schemas/connection-state.ts';
import { outageOf } from '../../../shared/availability.ts';
import { checkFilter } from '../../../shared/cel/filter.ts';
import { openConnection } from '../../../shared/connection.ts';
import { BusError, errors } from '../../../shared/errors.ts';
import type { AnyProvider } from '../../../shared/provider.ts';
import type { TableProblem } from '../../../shared/runtime/tables.ts';
import type { KeyRing } from '../../../shared/sealing.ts';
import { instant } from '../time.ts';
import { broken, type Check, checkOf, counted, doubtful, type Finding, well } from './check.ts';

/** The rows of a compacted topic, and the records of it that could not be read. */
export interface TableReading<V> {
  readonly rows: readonly V[];
  readonly problems: readonly TableProblem[];
}

const unreadable = ({ topic, partition, offset, code }: TableProblem): Finding =>
  doubtful(
    `${topic}/${partition}/${offset} is unreadable (${code}); the value before it is in force`,
    'Write the row again.',
  );

/** The keys are here, or nothing can be said of secrets. */
export function checkKeys(keys: KeyRing | undefined): Check {
  if (keys !== undefined) return well('keys', `${keys.sealWith} seals, ${counted(keys.keys.size, 'key')} to open`);
  return {
    name: 'keys',
    status: 'warning',
    summary: 'none here',
    details: ['Secrets were not looked at. The ingress does not start without keys.'],
    fix: 'Set SIGNALBOX_SECRET_KEYS as the ingress has it.',
  };
}

/** Each connection has a provider, secrets that open, and deliveries that can be read. */
export function checkConnections(
  { rows, problems }: TableReading<Connection>,
  known: {
    readonly providers: ReadonlyMap<string, AnyProvider>;
    readonly keys: KeyRing | undefined;
    readonly states: TableReading<ConnectionState>;
  },
): Check {
  const { providers, keys } = known;
  const states = new Map(known.states.rows.map((state) => [state.connectionId, state]));
  const unavailable = rows.flatMap((connection): readonly Finding[] => {
    const outage = outageOf(states.get(connection.id), connection);
    if (outage === undefined) return [];
    const detail = `${connection.id}: unavailable since ${instant(outage.since)}: ${outage.unavailableReason}`;
    return [doubtful(detail, 'See what could not be read: `signalbox dlq list --stage normalizer`.')];
  });
  const found = rows.flatMap((connection): readonly Finding[] => {
    const provider = providers.get(connection.provider);
    if (provider === undefined) {
      const detail = `${connection.id}: the provider ${connection.provider} is not built in`;
      return [broken(detail, errors['provider-unknown'].fix)];
    }
    if (keys === undefined) return [];
    try {
      if (openConnection(connection, provider, keys).length > 0) return [];
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      const { keyId } = error.details;
      const about = typeof keyId === 'string' ? `${error.code}, sealed by ${keyId}` : error.code;
      return [broken(`${connection.id}: ${about}`, errors[error.code].fix)];
    }
    return [
      doubtful(
        `${connection.id}: a secret is missing, so every webhook is refused`,
        `Type it: \`signalbox connections put ${connection.id} --provider ${connection.provider} --secret …\`.`,
      ),
    ];
  });
  const opened = keys === undefined ? '' : ', their secrets open';
  return checkOf(
    'connections',
    [...found, ...unavailable, ...[...problems, ...known.states.problems].map(unreadable)],
    {
      well: rows.length === 0 ? 'none yet' : `${rows.length}${opened}`,
      notWell: `${rows.length}, and not all work`,
    },
  );
}

/** What is wrong with one binding, of all that can be. */
function findingsOf(binding: Binding, connection: Connection | undefined): readonly Finding[] {
  const { agentUid, name, adapter, connectionId, filters, unavailableReason } = binding;
  const of = `${agentUid}/${name}`;
  const again = `Put it again: \`signalbox bindings put ${agentUid} ${name} --connection …\`.`;
  const found: Finding[] = [];
  if (connection === undefined) {
    const fix = `Create it with \`signalbox connections put ${connectionId}\`, or delete the binding: \`signalbox bindings delete ${agentUid} ${name}\`.`;
    found.push(broken(`${of}: its connection ${connectionId} does not exist`, fix));
  } else if (connection.provider !== adapter) {
    found.push(broken(`${of}: it is for ${adapter}, and ${connectionId} is of ${connection.provider}`, again));
  }
  const checked = filters.cel === undefined ? undefined : checkFilter(filters.cel);
  if (checked?.ok === false) found.push(broken(`${of}: its filter fails: ${checked.reason}`, again));
  if (unavailableReason !== null) found.push(doubtful(`${of}: unavailable, ${unavailableReason}`, again));
  return found;
}

/** Each binding stands on a connection of its provider, and its filter compiles. */
export function checkBindings({ rows, problems }: TableReading<Binding>, connections: readonly Connection[]): Check {
  const byId = new Map(connections.map((connection) => [connection.id, connection]));
  const found = rows.flatMap((binding) => findingsOf(binding, byId.get(binding.connectionId)));
  const disabled = rows.filter(({ enabled }) => !enabled).length;
  return checkOf('bindings', [...found, ...problems.map(unreadable)], {
    well: rows.length === 0 ? 'none yet' : `${rows.length}${disabled === 0 ? '' : `, ${disabled} disabled`}`,
    notWell: `${rows.length}, and not all work`,
  });
}

import { Binding, bindings } from '../../../schemas/binding.ts';
import { connections } from '../../../schemas/connection.ts';
import { sealConnection } from '../../../shared/connection.ts';
import { BusError } from '../../../shared/errors.ts';
import { providers } from '../../../shared/providers/index.ts';
import { putRow } from '../configuration.ts';
import type { CommandContext } from '../context.ts';

/** Stores a connection and the bindings on it, as `connections put` and `bindings put` would. */
export async function configure(
  context: CommandContext,
  wanted: {
    readonly connection: {
      readonly id: string;
      readonly provider: string;
      readonly config: Readonly<Record<string, unknown>>;
    };
    readonly routes: readonly { readonly agentUid: string; readonly name: string; readonly cel?: string }[];
  },
): Promise<void> {
  const { id, provider: name, config } = wanted.connection;
  const provider = providers.get(name);
  const keys = context.deployment().secretKeys;
  if (provider === undefined) throw new BusError('provider-unknown', { provider: name });
  if (keys === undefined) throw new BusError('key-missing', { setting: 'SIGNALBOX_SECRET_KEYS' });
  const now = context.clock.now();
  await putRow(context, connections, sealConnection({ id, config }, { provider, keys, now }));
  for (const { agentUid, name: bindingName, cel } of wanted.routes) {
    await putRow(
      context,
      bindings,
      Binding.parse({
        agentUid,
        name: bindingName,
        adapter: name,
        connectionId: id,
        filters: cel === undefined ? {} : { cel },
        unaddressedGroupMessagePolicy: 'record_only',
        enabled: true,
        unavailableReason: null,
        updatedAt: now,
      }),
    );
  }
}

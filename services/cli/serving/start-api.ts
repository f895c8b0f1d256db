import { bindings } from '../../../schemas/binding.ts';
import { connections } from '../../../schemas/connection.ts';
import { connectionStates } from '../../../schemas/connection-state.ts';
import { tokens } from '../../../schemas/token.ts';
import { readConfig } from '../../../shared/config.ts';
import { BusError } from '../../../shared/errors.ts';
import { providers } from '../../../shared/providers/index.ts';
import type { Codec } from '../../../shared/runtime/codec.ts';
import { createPublisher } from '../../../shared/runtime/publisher.ts';
import type { RuntimeSettings } from '../../../shared/runtime/runtime-settings.ts';
import { buildApi } from '../../api/api.ts';
import { config as apiConfig } from '../../api/config.ts';
import { openApiWorld } from '../../api/open-api-world.ts';
import { config as filterConfig } from '../../filter/config.ts';
import { stages } from '../../index.ts';
import { inOrder } from '../pipeline-order.ts';
import { listening, openConfiguration, type Started, senderFor } from './service.ts';
import type { ServiceOptions } from './start-services.ts';

/** The name of the HTTP API among the services. */
export const apiName = 'api';

/** Starts the HTTP API; it listens once its tables are read. */
export async function startApi(options: ServiceOptions, codec: Codec, runtime: RuntimeSettings): Promise<Started> {
  const { world, clock, log, metrics, environment, keys } = options;
  if (keys === undefined) {
    throw new BusError('setting-invalid', {
      problems: ['SIGNALBOX_SECRET_KEYS: is missing; the API seals secrets with it'],
    });
  }
  const [settings, filter] = readConfig([apiConfig, filterConfig] as const, environment);
  const configuration = { ...options, codec, runtime };
  const tables = {
    bindings: await openConfiguration(apiName, bindings, configuration),
    connections: await openConfiguration(apiName, connections, configuration),
    states: await openConfiguration(apiName, connectionStates, configuration),
    tokens: await openConfiguration(apiName, tokens, configuration),
  };
  const sender = senderFor(apiName, options, runtime);
  const server = buildApi({
    ...openApiWorld({
      ...world,
      codec,
      publisher: createPublisher({ bus: world.bus, codec, sender }),
      adapters: providers,
      bindings: tables.bindings.table,
      connections: tables.connections.table,
      states: tables.states.table,
      keys,
      clock,
      log,
      settings,
      filterMaxWork: filter.maxWork,
      pipeline: inOrder([...stages.values()]),
    }),
    tokens: tables.tokens.table,
    settings,
    log,
    onAnswer: ({ operation, outcome }) => metrics.apiRequest(operation, outcome),
  });
  const url = await listening(() => server.listen({ host: settings.host, port: settings.port }), {
    port: settings.port,
    setting: 'API_PORT',
  });
  metrics.watch({
    name: apiName,
    tableRows: () => new Map(Object.entries(tables).map(([name, table]) => [name, table.size()])),
    unsent: sender.pending,
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let open = true;
  return {
    url,
    service: {
      name: apiName,
      ended,
      ready: () => open,
      sick: () => undefined,
      async stop() {
        open = false;
        await server.close();
        await Promise.all(Object.values(tables).map((table) => table.close()));
        sender.stop();
        end();
      },
    },
  };
}

import { acceptedFacts, type RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type Binding, bindingKey, bindings } from '../../schemas/binding.ts';
import { type Connection, connections } from '../../schemas/connection.ts';
import { type ConnectionState, connectionStates } from '../../schemas/connection-state.ts';
import { type NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { type Outage, outageOf } from '../../shared/availability.ts';
import { runFilter } from '../../shared/cel/filter.ts';
import { defineStage, type Effect, emit, type Message, outcome, reject, type Table } from '../../shared/stage/index.ts';
import { config, type Settings } from './config.ts';
import { metrics } from './metrics.ts';
import { filterVariables } from './signal.ts';

export const stage = defineStage({
  name: 'filter',
  summary: 'Decides, binding by binding, which facts may go on to the agent.',
  input: normalizedFacts,
  outputs: [acceptedFacts],
  tables: { bindings, connections, states: connectionStates },
  config,
  metrics,
  reads: () => ({}),

  decide(view, message, settings) {
    const all = view.bindings.by(message.value.connectionId);
    const wanted = message.part === undefined ? all : all.filter((binding) => bindingKey(binding) === message.part);
    if (wanted.length === 0) return [outcome('binding_not_found')];
    const outage = outageAt(view, message);
    return wanted.map((binding) => decideBinding(binding, message, { maxWork: settings.maxWork, outage }));
  },
});

/** What the system found of the fact's connection, where that counts for the fact. */
function outageAt(
  { connections, states }: { readonly connections: Table<Connection>; readonly states: Table<ConnectionState> },
  { at, value: { connectionId, receivedAt } }: Message<NormalizedFact>,
): Outage | undefined {
  const found = states.get(connectionId);
  if (found === undefined) return undefined;
  const outage = outageOf(found, connections.get(connectionId));
  // What came before it was read well, and from `until` on facts pass, to try.
  return outage !== undefined && receivedAt >= outage.since && at < outage.until ? outage : undefined;
}

/** One effect for each binding: so each fact has one end, or goes on once, on each of its routes. */
function decideBinding(
  binding: Binding,
  message: Message<NormalizedFact>,
  { maxWork, outage }: Settings & { readonly outage: Outage | undefined },
): Effect {
  const fact = message.value;
  const about = { agentUid: binding.agentUid, bindingName: binding.name };
  if (!binding.enabled) return outcome('binding_disabled', { about });
  if (binding.unavailableReason !== null) {
    return outcome('binding_unavailable', { reason: binding.unavailableReason, about });
  }
  if (binding.adapter !== fact.provider) {
    const reason = `the binding is for ${binding.adapter}, its connection is of ${fact.provider}`;
    return outcome('binding_unavailable', { reason, about });
  }

  const { cel } = binding.filters;
  if (cel !== undefined) {
    const result = runFilter(cel, filterVariables(binding, fact, message.at), maxWork);
    if (result.type === 'failed') {
      return reject('invalid_binding_filter', { reason: result.reason }, { part: bindingKey(binding), about });
    }
    if (!result.passes) return outcome('filtered', { about });
  }
  // The system decided this, and nobody that the fact be lost: it can be redriven when its connection is well.
  const refused = outageOf(outage, binding);
  if (refused !== undefined) {
    return reject('binding_unavailable', { reason: refused.unavailableReason }, { part: bindingKey(binding), about });
  }

  return emit(acceptedFacts, { type: 'fact.accepted', route: routeOf(binding), fact }, bindingKey(binding));
}

const routeOf = (binding: Binding): RouteOfFact => ({
  agentUid: binding.agentUid,
  bindingName: binding.name,
  adapter: binding.adapter,
  unaddressedGroupMessagePolicy: binding.unaddressedGroupMessagePolicy,
  ...(binding.windows !== undefined && { windows: binding.windows }),
  ...(binding.entryEditedEvents !== undefined && { entryEditedEvents: binding.entryEditedEvents }),
});

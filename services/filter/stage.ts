import { acceptedFacts, type RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type Binding, bindingKey, bindings } from '../../schemas/binding.ts';
import { type NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { runFilter } from '../../shared/cel/filter.ts';
import { defineStage, type Effect, emit, type Message, outcome, reject } from '../../shared/stage/index.ts';
import { config, type Settings } from './config.ts';
import { metrics } from './metrics.ts';
import { filterVariables } from './signal.ts';

export const stage = defineStage({
  name: 'filter',
  summary: 'Decides, binding by binding, which facts may go on to the agent.',
  input: normalizedFacts,
  outputs: [acceptedFacts],
  tables: { bindings },
  config,
  metrics,
  reads: () => ({}),

  decide(view, message, settings) {
    const all = view.bindings.by(message.value.connectionId);
    const wanted = message.part === undefined ? all : all.filter((binding) => bindingKey(binding) === message.part);
    if (wanted.length === 0) return [outcome('binding_not_found')];
    return wanted.map((binding) => decideBinding(binding, message, settings));
  },
});

/** One effect for each binding: so each fact has one end, or goes on once, on each of its routes. */
function decideBinding(binding: Binding, message: Message<NormalizedFact>, { maxWork }: Settings): Effect {
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

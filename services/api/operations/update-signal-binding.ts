import { z } from 'zod';
import { type Binding, bindingKey } from '../../../schemas/binding.ts';
import { requireFilter } from '../../../shared/cel/filter.ts';
import { BusError } from '../../../shared/errors.ts';
import { type Caller, mayActFor } from '../../../shared/operation.ts';
import { windowsAfter } from '../batch-windows.ts';
import { members, OneBinding, refusals } from '../members.ts';
import { adapterOf, bindingOf, saveConnection, supportedPolicy, versionAfter } from '../save-binding.ts';
import { type ApiWorld, defineOperation, type Writes } from '../world.ts';

export const updateSignalBinding = defineOperation({
  name: 'update-signal-binding',
  summary: 'Change some of a binding, or move it to another agent.',
  details:
    'What is not given stays. `config` and `windows` are laid over the stored ones: null takes one away, a blank secret ' +
    'keeps the stored one. Every save clears `unavailableReason`. A move needs the scope `bindings:delete`: the binding stays, ' +
    'disabled, with its old agent. It can be read, and routes, when the answer arrives.',
  http: 'PATCH /agents/:agentUid/signal-bindings/:bindingName',
  scope: 'bindings:write',
  reach: 'agent',
  input: z.strictObject({
    agentUid: members.agentUid,
    bindingName: members.bindingName,
    connectionId: members.connectionId.optional(),
    config: members.config.optional(),
    filters: members.filters.optional(),
    groupMessageMode: members.groupMessageMode.optional(),
    entryEditedEvents: members.entryEditedEvents.optional(),
    windows: members.windowsPatch.optional(),
    enabled: members.enabled.optional(),
    targetAgentUid: members.agentUid.optional().describe('The agent to move it to.'),
  }),
  output: OneBinding,
  example: { agentUid: 'iris', bindingName: 'desk', enabled: false },
  fails: [
    'agent-forbidden',
    'binding-not-found',
    'binding_target_conflict',
    'signal_adapter_not_found',
    'unknown_group_message_mode',
    'unsupported_group_message_mode',
    'invalid_binding_filter',
    'connection-not-found',
    'connection-adapter-mismatch',
    'connection-forbidden',
  ],
  refusals,

  async handle(input, world, caller) {
    requireFilter(input.filters?.cel);
    return world.change(async (writes) => {
      const stored = bindingOf(world, input);
      const adapter = adapterOf(world, stored.adapter);
      const { groupMessageMode: mode, connectionId = stored.connectionId, config } = input;
      const policy = mode === undefined ? stored.unaddressedGroupMessagePolicy : supportedPolicy(adapter, mode);
      const target = moveOf(world, { stored, to: input.targetAgentUid, caller });
      if (config !== undefined || connectionId !== stored.connectionId) {
        await saveConnection(world, writes, { adapter, connectionId, config, how: 'patch', caller });
      }
      const { windows, entryEditedEvents = true, ...kept } = stored;
      const changed: Binding = {
        ...kept,
        connectionId,
        filters: input.filters ?? stored.filters,
        unaddressedGroupMessagePolicy: policy,
        ...(!(input.entryEditedEvents ?? entryEditedEvents) && { entryEditedEvents: false }),
        ...windowsAfter(windows, input.windows),
        enabled: input.enabled ?? (target === undefined ? stored.enabled : true),
        unavailableReason: null,
        updatedAt: versionAfter(stored, world.now()),
      };
      if (target !== undefined) return { signalBinding: await move(world, writes, { stored, changed, target }) };
      await writes.putBinding(changed);
      return { signalBinding: changed };
    });
  },
});

/** The agent that a binding moves to; undefined when it stays. Throws where it may not. */
function moveOf(
  { bindings }: ApiWorld,
  {
    stored,
    to,
    caller,
  }: { readonly stored: Binding; readonly to: Binding['agentUid'] | undefined; readonly caller: Caller },
): Binding['agentUid'] | undefined {
  if (to === undefined || to === stored.agentUid) return undefined;
  if (!caller.scopes.includes('bindings:delete')) throw new BusError('scope-missing', { scope: 'bindings:delete' });
  if (!mayActFor(caller, to)) throw new BusError('agent-forbidden', { agentUid: to });
  const namesake = bindings.get(bindingKey({ agentUid: to, name: stored.name }));
  if (namesake?.enabled === true)
    throw new BusError('binding_target_conflict', { agentUid: to, bindingName: stored.name });
  return to;
}

/**
 * The log has no transaction over two keys. The old binding goes first: a process that dies in between leaves nobody woken,
 * instead of two, and the same request again finishes the move.
 */
async function move(
  { bindings }: ApiWorld,
  writes: Writes,
  of: { readonly stored: Binding; readonly changed: Binding; readonly target: Binding['agentUid'] },
): Promise<Binding> {
  const { stored, changed, target } = of;
  await writes.putBinding({ ...stored, enabled: false, updatedAt: changed.updatedAt });
  const namesake = bindings.get(bindingKey({ agentUid: target, name: changed.name }));
  const moved = { ...changed, agentUid: target, updatedAt: versionAfter(namesake, changed.updatedAt) };
  await writes.putBinding(moved);
  return moved;
}

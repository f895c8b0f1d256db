import { z } from 'zod';
import { Binding, bindingKey } from '../../../schemas/binding.ts';
import { requireFilter } from '../../../shared/cel/filter.ts';
import { defaultModeOf } from '../../../shared/group-message-mode.ts';
import { windowsAfter } from '../batch-windows.ts';
import { members, OneBinding, refusals } from '../members.ts';
import { adapterOf, saveConnection, supportedPolicy, versionAfter } from '../save-binding.ts';
import { defineOperation } from '../world.ts';

export const putSignalBinding = defineOperation({
  name: 'put-signal-binding',
  summary: 'Join a connection to an agent, or replace that binding.',
  details:
    'The whole binding is replaced: what is not given has its default, it is enabled, and `unavailableReason` is cleared. ' +
    'With `config` the connection is made, or its settings are replaced, which needs the scope `connections:write`; without, ' +
    'it must exist. It can be read, and routes, when the answer arrives.',
  http: 'PUT /agents/:agentUid/signal-bindings/:adapterId/:bindingName',
  scope: 'bindings:write',
  reach: 'agent',
  input: z.strictObject({
    agentUid: members.agentUid,
    adapterId: z.string().min(1).max(64).describe('One that `GET /signal-adapters` lists.'),
    bindingName: members.bindingName,
    connectionId: members.connectionId,
    config: members.config.optional(),
    filters: members.filters.default({}),
    groupMessageMode: members.groupMessageMode.optional(),
    entryEditedEvents: members.entryEditedEvents.default(true),
    windows: members.windows.optional(),
    enabled: members.enabled.default(true),
  }),
  output: OneBinding,
  example: {
    agentUid: 'iris',
    adapterId: 'github',
    bindingName: 'desk',
    connectionId: 'octo',
    config: { webhookSecret: 'correct horse battery staple' },
    filters: { cel: "signal.kind == 'entry_received'" },
    windows: { addressedMs: 1_500 },
  },
  fails: [
    'agent-forbidden',
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
    const adapter = adapterOf(world, input.adapterId);
    const policy = supportedPolicy(adapter, input.groupMessageMode ?? defaultModeOf(adapter));
    requireFilter(input.filters.cel);
    const { agentUid, bindingName: name, connectionId, filters, enabled } = input;
    return world.change(async (writes) => {
      await saveConnection(world, writes, { adapter, connectionId, config: input.config, how: 'replace', caller });
      const signalBinding = Binding.parse({
        agentUid,
        name,
        adapter: adapter.name,
        connectionId,
        filters,
        unaddressedGroupMessagePolicy: policy,
        ...(!input.entryEditedEvents && { entryEditedEvents: false }),
        ...windowsAfter(undefined, input.windows),
        enabled,
        unavailableReason: null,
        updatedAt: versionAfter(world.bindings.get(bindingKey({ agentUid, name })), world.now()),
      });
      await writes.putBinding(signalBinding);
      return { signalBinding };
    });
  },
});

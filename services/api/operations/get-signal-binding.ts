import { z } from 'zod';
import { BatchWindows, Binding } from '../../../schemas/binding.ts';
import { defaultWindows } from '../../mirror-projector/batch/window.ts';
import { members } from '../members.ts';
import { bindingOf } from '../save-binding.ts';
import { shownBinding } from '../shown-binding.ts';
import { defineOperation } from '../world.ts';

export const getSignalBinding = defineOperation({
  name: 'get-signal-binding',
  summary: 'Read a binding with the open settings of its connection, and which secrets are stored.',
  details: 'All that a form needs to change it.',
  http: 'GET /agents/:agentUid/signal-bindings/:bindingName',
  scope: 'bindings:write',
  reach: 'agent',
  input: z.strictObject({ agentUid: members.agentUid, bindingName: members.bindingName }),
  output: z.object({
    signalBinding: Binding,
    config: z.record(z.string(), z.json()).describe('Without secrets.'),
    storedSecretPaths: z.array(z.string()).describe('The secrets that have a value.'),
    defaultWindows: BatchWindows.required().describe('The windows that hold where the binding has none of its own.'),
  }),
  example: { agentUid: 'iris', bindingName: 'desk' },
  fails: ['agent-forbidden', 'binding-not-found'],

  async handle(ref, world) {
    const signalBinding = bindingOf(world, ref);
    const connection = world.connections.get(signalBinding.connectionId);
    return {
      signalBinding: shownBinding(signalBinding, world),
      config: connection?.config ?? {},
      storedSecretPaths: Object.keys(connection?.secrets ?? {}).sort(),
      defaultWindows,
    };
  },
});

import { z } from 'zod';
import { bindingKey } from '../../../schemas/binding.ts';
import { members, OneBinding } from '../members.ts';
import { bindingOf } from '../save-binding.ts';
import { defineOperation } from '../world.ts';

export const deleteSignalBinding = defineOperation({
  name: 'delete-signal-binding',
  summary: 'Delete a binding; its facts then end as binding_not_found.',
  details: 'Answers what it was, disabled. To keep it and let nothing pass, disable it instead.',
  http: 'DELETE /agents/:agentUid/signal-bindings/:bindingName',
  scope: 'bindings:delete',
  reach: 'agent',
  input: z.strictObject({ agentUid: members.agentUid, bindingName: members.bindingName }),
  output: OneBinding,
  example: { agentUid: 'iris', bindingName: 'desk' },
  fails: ['agent-forbidden', 'binding-not-found'],

  async handle(ref, world) {
    return world.change(async (writes) => {
      const binding = bindingOf(world, ref);
      await writes.removeBinding(bindingKey(binding));
      return { signalBinding: { ...binding, enabled: false } };
    });
  },
});

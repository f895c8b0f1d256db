import { z } from 'zod';
import { Binding } from '../../../schemas/binding.ts';
import { BusError } from '../../../shared/errors.ts';
import { mayActFor } from '../../../shared/operation.ts';
import { members } from '../members.ts';
import { shownBinding } from '../shown-binding.ts';
import { defineOperation } from '../world.ts';

const rank = ({ agentUid, adapter, name }: Binding): string => JSON.stringify([agentUid, adapter, name]);

export const listSignalBindings = defineOperation({
  name: 'list-signal-bindings',
  summary: 'List the bindings by agent, adapter and name, disabled ones too.',
  details: "A token for some agents sees theirs. `unavailableReason` says why a binding's facts are refused.",
  http: 'GET /signal-bindings',
  scope: 'bindings:read',
  reach: 'own',
  input: z.strictObject({ agent: members.agentUid.optional().describe('Only those of this agent.') }),
  output: z.object({ signalBindings: z.array(Binding) }),
  example: { agent: 'iris' },
  fails: ['agent-forbidden'],

  async handle({ agent }, world, caller) {
    if (agent !== undefined && !mayActFor(caller, agent)) throw new BusError('agent-forbidden', { agentUid: agent });
    const signalBindings = world.bindings
      .all()
      .filter(({ agentUid }) => (agent === undefined ? mayActFor(caller, agentUid) : agentUid === agent))
      .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
      .map((binding) => shownBinding(binding, world));
    return { signalBindings };
  },
});

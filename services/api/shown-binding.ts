import type { Binding } from '../../schemas/binding.ts';
import { unavailableReasonOf } from '../../shared/availability.ts';
import type { ApiWorld } from './world.ts';

/** A binding as it is answered: unavailable where the system found that of its connection, too. */
export const shownBinding = (binding: Binding, { connections, states }: ApiWorld): Binding => ({
  ...binding,
  unavailableReason: unavailableReasonOf(binding, {
    connection: connections.get(binding.connectionId),
    state: states.get(binding.connectionId),
  }),
});

import { type JourneyWorld, openJourneyWorld as openOver } from '../../../shared/journey/world.ts';
import { stages } from '../../index.ts';
import type { CommandContext } from '../context.ts';
import { inOrder } from '../pipeline-order.ts';

/** Opens what a journey is read from, over what a command reaches. */
export async function openJourneyWorld(context: CommandContext): Promise<JourneyWorld> {
  const [bus, store, codec] = await Promise.all([context.bus(), context.store(), context.codec()]);
  return openOver({
    bus,
    store,
    codec,
    clock: context.clock,
    pipeline: inOrder([...stages.values()]),
    progress: context.terminal.progress,
  });
}

import { z } from 'zod';
import type { UnaddressedGroupMessagePolicy } from '../schemas/binding.ts';

/** What people call the policy for group messages that address nobody. */
export const GroupMessageMode = z.enum(['addressed_only', 'observe_all', 'may_intervene']);
export type GroupMessageMode = z.infer<typeof GroupMessageMode>;

const policies = {
  addressed_only: 'ignore',
  observe_all: 'record_only',
  may_intervene: 'may_intervene',
} as const satisfies Record<GroupMessageMode, UnaddressedGroupMessagePolicy>;

/** The policy that a mode stands for. */
export const policyOf = (mode: GroupMessageMode): UnaddressedGroupMessagePolicy => policies[mode];

/** The modes that an adapter has. */
export const modesOf = (adapter: {
  readonly groupMessageModes?: readonly GroupMessageMode[];
}): readonly GroupMessageMode[] => adapter.groupMessageModes ?? GroupMessageMode.options;

/** The mode of a binding that names none: to observe, where the adapter can. */
export function defaultModeOf(adapter: Parameters<typeof modesOf>[0]): GroupMessageMode {
  const modes = modesOf(adapter);
  return modes.includes('observe_all') ? 'observe_all' : (modes[0] ?? 'observe_all');
}

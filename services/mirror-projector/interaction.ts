import { z } from 'zod';
import type { Action } from '../../schemas/normalized-fact.ts';

/** The protocol of the controls that replies of ours offer. An action under another one, or none, is not managed. */
export const interactionProtocol = 'signalbox.interaction.v1';

const named = z.string().min(1).max(300);

/** The answer that somebody gave to a control of ours: one of its options, or a text. */
const ManagedInteraction = z
  .object({
    version: z.literal(interactionProtocol),
    interactionId: named,
    controlId: named,
    revision: z.int().nonnegative(),
  })
  .and(
    z.union([
      z.object({ optionId: named, optionValue: z.string() }),
      z.object({ inputName: named, formValue: z.record(z.string(), z.string()) }),
    ]),
  );
export type ManagedInteraction = z.infer<typeof ManagedInteraction>;

/** What an action is to us. */
export type Interaction =
  | { readonly type: 'unmanaged' }
  | { readonly type: 'malformed'; readonly issue: string }
  | { readonly type: 'managed'; readonly answer: ManagedInteraction };

/** Reads whether an action answers a control of ours. */
export function interactionIn({ action }: Pick<Action, 'action'>): Interaction {
  const { value } = action;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { type: 'unmanaged' };
  if (!Object.hasOwn(value, 'version') || value.version !== interactionProtocol) return { type: 'unmanaged' };
  const answer = ManagedInteraction.safeParse(value);
  if (answer.success) return { type: 'managed', answer: answer.data };
  const [issue] = answer.error.issues;
  return { type: 'malformed', issue: `${issue?.path.join('.') ?? ''}: ${issue?.code ?? ''}` };
}

import { z } from 'zod';
import { AgentUid, BindingName } from '../schemas/ids.ts';

/** An agent as people type it: trimmed, whatever its letter case. */
export const TypedAgentUid = z
  .string()
  .trim()
  .toLowerCase()
  // The key of a binding is `agent|name`: a bar within the agent would make two bindings one.
  .regex(/^[^|]*$/, { error: 'must not hold a |' })
  .pipe(AgentUid);

/** A binding's name as people type it: trimmed. */
export const TypedBindingName = z.string().trim().pipe(BindingName);

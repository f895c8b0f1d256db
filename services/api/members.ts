import { z } from 'zod';
import { Binding } from '../../schemas/binding.ts';
import { ConnectionId, SignalChannelId, SourceEntryId } from '../../schemas/ids.ts';
import { GroupMessageMode } from '../../shared/group-message-mode.ts';
import { TypedAgentUid, TypedBindingName } from '../../shared/typed-ids.ts';
import { Windows, WindowsPatch } from './batch-windows.ts';

/** What inputs have in common. */
export const members = {
  agentUid: TypedAgentUid.describe('The agent; letter case does not matter.'),
  bindingName: TypedBindingName.describe("The binding's name within its agent."),
  signalChannelId: SignalChannelId.describe("The channel's id, percent-encoded in a path."),
  sourceEntryId: SourceEntryId.describe("The entry's id within its channel, percent-encoded in a path."),
  connectionId: ConnectionId.describe('The account whose facts the binding takes.'),
  config: z
    .record(z.string().max(200), z.json())
    .describe('Settings of the connection by name, secrets among them; a blank secret keeps the stored one.'),
  filters: z
    .strictObject({ cel: z.string().trim().min(1).max(4_000).optional().describe('CEL over `binding` and `signal`.') })
    .describe('Which facts pass: `{}` for all.'),
  groupMessageMode: GroupMessageMode.describe('What a group message does that addresses nobody.'),
  entryEditedEvents: z
    .boolean()
    .describe('Tell an edit of what the agent has as signal.entry.edited, and not as an event of its own type.'),
  windows: Windows.describe(
    'How long messages wait for the rest of what is being said; what is left out has its default.',
  ),
  windowsPatch: WindowsPatch.describe(
    'How long messages wait, laid over what is stored: null gives a window its default back, or all of them.',
  ),
  enabled: z.boolean().describe('Whether facts pass at all.'),
  limit: z.coerce.number().int().min(1).max(100).default(20).describe('How many at most.'),
  cursor: z
    .string()
    .max(4_000)
    .regex(/^\d{1,15}(?:-\d{1,18})+$/, { error: 'must be the `next` of a page' })
    .optional()
    .describe('The `next` of the page before.'),
};

/** The codes of members that do not fit. */
export const refusals = {
  filters: 'invalid_binding_filter',
  groupMessageMode: 'unknown_group_message_mode',
} as const;

/** Where a list goes on, in an answer. */
export const next = z.string().nullable().describe('Leads to the next page; null on the last one.');

/** A binding in an answer. */
export const OneBinding = z.object({ signalBinding: Binding });

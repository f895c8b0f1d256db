import { z } from 'zod';
import { defineTopic } from './define.ts';
import { AgentUid, BindingName, ConnectionId } from './ids.ts';
import { rowKey } from './row-key.ts';

/** Which facts pass: all of them, or those for which the CEL expression over `binding` and `signal` is true. */
export const Filters = z.strictObject({ cel: z.string().min(1).max(4_000).optional() });
export type Filters = z.infer<typeof Filters>;

/** What a group message that addresses nobody does. */
export const UnaddressedGroupMessagePolicy = z.enum(['ignore', 'record_only', 'may_intervene']);
export type UnaddressedGroupMessagePolicy = z.infer<typeof UnaddressedGroupMessagePolicy>;

const window = z.int().min(0).max(3_600_000).optional();

/**
 * How long messages wait for the rest of what is being said, in milliseconds: one that addresses the agent, one with files,
 * one with a long text; one that addresses nobody, and one with files; one that the agent may answer unasked, since the last
 * and since the first; a file that is still being downloaded. What is left out has the default.
 */
export const BatchWindows = z.object({
  addressedMs: window,
  addressedAttachmentsMs: window,
  addressedLongTextMs: window,
  neutralMs: window,
  neutralAttachmentsMs: window,
  ambientMs: window,
  ambientMostMs: window,
  pendingAttachmentMs: window,
});
export type BatchWindows = z.infer<typeof BatchWindows>;

/** A signal routing rule: joins a connection to an agent. A non-null `unavailableReason` refuses input and keeps the rule. */
export const Binding = z.object({
  agentUid: AgentUid,
  name: BindingName,
  adapter: z.string().min(1).max(64),
  connectionId: ConnectionId,
  filters: Filters,
  unaddressedGroupMessagePolicy: UnaddressedGroupMessagePolicy,
  /** Whether an edit of what the agent was given already becomes a `signal.entry.edited`. Absent: it does. */
  entryEditedEvents: z.boolean().optional(),
  windows: BatchWindows.optional(),
  enabled: z.boolean(),
  unavailableReason: z.string().min(1).max(500).nullable(),
  updatedAt: z.int().nonnegative(),
});
export type Binding = z.infer<typeof Binding>;

/** A binding's key: `agentUid|name`. Names the filter's outputs, so that a rule added between two tries shifts nothing. */
export const bindingKey = (binding: { readonly agentUid: string; readonly name: string }): string =>
  rowKey(binding.agentUid, binding.name);

/** The signal routing rules in force. */
export const bindings = defineTopic<Binding>({
  name: 'bindings',
  summary: 'The signal routing rules in force: which connection wakes which agent, and when.',
  value: Binding,
  key: bindingKey,
  keep: 'compacted',
  index: (binding) => binding.connectionId,
  example: Binding.parse({
    agentUid: 'iris',
    name: 'desk',
    adapter: 'github',
    connectionId: 'octo',
    filters: { cel: "signal.kind == 'entry_received'" },
    unaddressedGroupMessagePolicy: 'record_only',
    enabled: true,
    unavailableReason: null,
    updatedAt: 1_929_952_800_000,
  }),
});

import { z } from 'zod';

const id = (max: number) => z.string().min(1).max(max);

/** One receipt of something a provider sent: each HTTP delivery and each published fact has its own. */
export const RawFactId = id(200).brand<'RawFactId'>();
export type RawFactId = z.infer<typeof RawFactId>;

/** An agent, trimmed and lower-case. */
export const AgentUid = id(100).brand<'AgentUid'>();
export type AgentUid = z.infer<typeof AgentUid>;

/** A rule's name within its agent, trimmed. */
export const BindingName = id(100).brand<'BindingName'>();
export type BindingName = z.infer<typeof BindingName>;

/** One account at a provider; also the `:instanceId` of its webhook URL. */
export const ConnectionId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/)
  .brand<'ConnectionId'>();
export type ConnectionId = z.infer<typeof ConnectionId>;

/** A conversation or object at a provider, prefixed by the provider: `github:octo/repo#7`. */
export const SignalChannelId = id(500).brand<'SignalChannelId'>();
export type SignalChannelId = z.infer<typeof SignalChannelId>;

/** One message, comment or object within a channel: `issue_comment:492700400`. */
export const SourceEntryId = id(300).brand<'SourceEntryId'>();
export type SourceEntryId = z.infer<typeof SourceEntryId>;

/** One event as the provider counts them; a redelivery has the same one. */
export const SourceEventId = id(300).brand<'SourceEventId'>();
export type SourceEventId = z.infer<typeof SourceEventId>;

/** One queue of an agent's work. */
export const SessionId = id(600).brand<'SessionId'>();
export type SessionId = z.infer<typeof SessionId>;

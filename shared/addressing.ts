import type { EntryReceived, Mention } from '../schemas/normalized-fact.ts';

/** Whether a mention means this agent: `@name` in plain text is no mention at all. */
export function targetsAgent(mention: Mention, agentUid: string): boolean {
  if (mention.targetsCurrentAgent === false) return false;
  const isStructured = mention.structured === true || mention.kind === 'agent' || mention.kind === 'bot';
  return isStructured && (mention.agentUid === undefined || mention.agentUid.toLowerCase() === agentUid.toLowerCase());
}

/** Whether an entry says by itself that it is for this agent. What it replies to may say so too, and is seen later. */
export const isExplicit = ({ explicit, mentions = [] }: EntryReceived, agentUid: string): boolean =>
  explicit === true || mentions.some((mention) => targetsAgent(mention, agentUid));

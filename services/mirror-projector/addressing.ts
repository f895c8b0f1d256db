import type { EntryReceived } from '../../schemas/normalized-fact.ts';
import { isExplicit, targetsAgent } from '../../shared/addressing.ts';

/** How an entry of a conversation stands to one agent. */
export interface Addressing {
  /** Said to the agent by the entry itself: a mention, a reply to it, a reply in a thread that it writes in. */
  readonly explicit: boolean;
  /** For the agent: explicit in a group, or whatever is written in a DM. */
  readonly addressed: boolean;
  /** Names somebody who is not this agent. */
  readonly namesOthers: boolean;
  /** A group message to nobody, which may belong to what its sender says to the agent beside it. */
  readonly addressable: boolean;
}

/** What the mirror knows of the places that an entry points at. */
export interface Surroundings {
  /** The agent that wrote what the entry replies to, where an agent of ours did. */
  readonly repliedAgentUid: string | undefined;
  /** The agents of ours that wrote in the entry's thread. */
  readonly threadAgentUids: readonly string[];
}

/** Whether a fact is of a conversation between people, and so waits for the rest of what is being said. */
export const isConversation = ({ channel }: Pick<EntryReceived, 'channel'>): boolean =>
  channel.kind === 'im_dm' || channel.kind === 'im_group';

/** How an entry stands to an agent. Plain text says nothing here, whatever names it holds. */
export function addressingOf(fact: EntryReceived, agentUid: string, around: Surroundings): Addressing {
  const ownWriting = fact.author.agentUid === agentUid;
  const followsAgent =
    fact.replyToSourceEntryId !== undefined &&
    (around.repliedAgentUid === agentUid ||
      (fact.providerThreadId !== undefined && around.threadAgentUids.includes(agentUid)));
  const explicit = isExplicit(fact, agentUid) || (followsAgent && !ownWriting);
  const group = fact.channel.kind === 'im_group';
  const namesOthers = (fact.mentions ?? []).some(
    (mention) => mention.kind !== 'channel' && mention.kind !== 'everyone' && !targetsAgent(mention, agentUid),
  );
  return {
    explicit,
    addressed: fact.channel.kind === 'im_dm' || (group && explicit),
    namesOthers,
    addressable: group && !explicit && !namesOthers,
  };
}

import type { RouteOfFact } from '../../schemas/accepted-fact.ts';
import { type PairWakes, pairWakes } from '../../schemas/conversation.ts';
import { type EntryReceived, senderKeyOf } from '../../schemas/normalized-fact.ts';
import { type Effect, outcome, put } from '../../shared/stage/index.ts';
import type { Settings } from './config.ts';

/** Who may answer without an end: programs, and agents of ours. People tire. */
const isProgram = ({ author }: EntryReceived): boolean =>
  author.agentUid !== undefined || author.kind === 'bot' || author.kind === 'app';

/** The row of an author and the agent that it wakes; people have none. */
export const pairPlace = ({ agentUid }: RouteOfFact, fact: EntryReceived) =>
  isProgram(fact) && fact.author.agentUid !== agentUid
    ? pairWakes.at({ agentUid, signalChannelId: fact.signalChannelId, senderKey: senderKeyOf(fact) })
    : undefined;

/** Lets an entry wake its agent, unless it is one of a chain that does not end: then it is recorded and no more. */
export function unlessLooping(
  entry: {
    readonly pair: PairWakes | undefined;
    readonly route: RouteOfFact;
    readonly fact: EntryReceived;
    readonly at: number;
    readonly settings: Settings;
  },
  ways: { readonly wake: () => readonly Effect[]; readonly record: () => readonly Effect[] },
): readonly Effect[] {
  const { pair, route, fact, at, settings } = entry;
  const instead = (reason: string): readonly Effect[] =>
    ways
      .record()
      .map((effect) =>
        effect.do === 'outcome' && effect.status === 'recorded' ? outcome('loop_guard', { reason }) : effect,
      );

  if (fact.mirrorOnly === true) return ways.wake();
  if ((fact.causalDepth ?? 0) >= settings.maxCausalDepth) return instead('causal_depth');
  const place = pairPlace(route, fact);
  if (place === undefined) return ways.wake();

  const { since, wakes } = pair ?? { since: at, wakes: 0 };
  if (wakes >= settings.maxPairWakes) return instead('pair_rate');
  const effects = ways.wake();
  if (!effects.some((effect) => mayWake(effect, route))) return effects;
  return [put(place, { since, wakes: wakes + 1 }, since + settings.pairWindowMs), ...effects];
}

const mayWake = (effect: Effect, { unaddressedGroupMessagePolicy: policy }: RouteOfFact): boolean =>
  effect.do === 'outcome' &&
  (effect.status === 'accepted' || (effect.status === 'recorded' && policy === 'may_intervene'));

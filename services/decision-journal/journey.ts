import type { Decision } from '../../schemas/decision.ts';
import type { Journey, JourneyIndex } from '../../schemas/journey.ts';

/** Two records of one and the same end: a decision that was written again after a crash or a second redrive. */
const isRepeat = (one: Decision, other: Decision): boolean =>
  one.stage === other.stage &&
  one.from === other.from &&
  one.status === other.status &&
  one.about.agentUid === other.about.agentUid &&
  one.about.bindingName === other.about.bindingName;

/** The journey with one more decision; undefined when it has this one already. */
export function addDecision(journey: Journey | undefined, decision: Decision, max: number): Journey | undefined {
  const { decisions, dropped } = journey ?? { decisions: [], dropped: 0 };
  if (decisions.some((known) => isRepeat(known, decision))) return undefined;
  if (decisions.length >= max) return { decisions, dropped: dropped + 1 };
  return { decisions: [...decisions, decision], dropped };
}

/** The index row that leads to one more fact; the oldest gives way where there are too many. */
export function addRootId(index: JourneyIndex | undefined, rootId: string, max: number): JourneyIndex {
  const rootIds = index?.rootIds ?? [];
  return { rootIds: rootIds.includes(rootId) ? rootIds : [...rootIds, rootId].slice(-max) };
}

import { acceptedFacts } from '../../../schemas/accepted-fact.ts';
import { actorEvents } from '../../../schemas/actor-event.ts';
import { type Decision, decisions } from '../../../schemas/decision.ts';
import type { Topic } from '../../../schemas/define.ts';
import type { RecordHeader } from '../../../shared/runtime/header.ts';
import type { AnyStage } from '../../../shared/stage/stage.ts';

/** One thing that came of an input record on one route: an outcome, or a record of another topic. */
export interface End {
  readonly partition: number;
  readonly offset: bigint;
  readonly rootId: string;
  /** `agent|binding`; empty where a stage does not name its outputs. */
  readonly route: string;
  /** `filtered`, `accepted`, `wake`, … */
  readonly name: string;
  readonly reason?: string;
  /** All that was written, in one form, so that equal values are equal texts. */
  readonly content: string;
}

const outcomePrefix = 'outcome:';
const names: ReadonlyMap<string, string> = new Map([
  [acceptedFacts.name, 'accepted'],
  [actorEvents.name, 'wake'],
]);

/** The topics in which the ends of a stage's decisions lie. A dead letter is told by its decision. */
export const topicsOfEnds = (stage: AnyStage): readonly Topic[] => [...stage.outputs, decisions as Topic];

/** What a record tells of a decision of the stage; undefined when it tells of something else. */
export function endOf(
  stage: AnyStage,
  record: { readonly topic: string; readonly header: RecordHeader | undefined; readonly value: unknown },
): End | undefined {
  const from = record.header?.from;
  if (from === undefined || record.header === undefined || from.topic !== stage.input.name) return undefined;
  const { partition, offset, effect } = from;
  const named = effect.startsWith(outcomePrefix) ? effect.slice(outcomePrefix.length) : effect;
  // Numbers shift when a decision changes: they name no route.
  const route = /^\d*$/.test(named) ? '' : named;
  const where = { partition, offset, rootId: record.header.rootId, route, content: canonical(record.value) };
  if (record.topic !== decisions.name) return { ...where, name: names.get(record.topic) ?? record.topic };
  // Decoded by the topic's own schema.
  const { stage: decider, status, reason } = record.value as Decision;
  if (decider !== stage.name) return undefined;
  return { ...where, name: status, ...(reason !== undefined && { reason }) };
}

/** JSON with the members of every object in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

import type { About } from '../../schemas/define.ts';
import { journeys } from '../../schemas/journey.ts';
import { allDecisions, type Decided, type FollowUp, followUp } from './decisions.ts';
import type { FoundFact } from './find.ts';
import { parsePosition, positionText } from './position.ts';
import type { DecisionHop, Hop, JourneyReport, RecordHop } from './report.ts';
import { createTrail, letterOf, type Node, type Trail } from './trail.ts';
import { findUncommitted, type Uncommitted } from './waiting.ts';
import { type JourneyWorld, readValue } from './world.ts';

/** Walks the whole way of one fact; undefined when nothing of it is left. */
export async function walkJourney(fact: FoundFact, world: JourneyWorld): Promise<JourneyReport | undefined> {
  const trail = createTrail(world.log);
  const journey = await world.journal.read(journeys.at(fact.rootId));
  const known = journey?.decisions ?? [];
  for (const seed of fact.seeds) await trail.climb(seed);
  for (const { from } of known) await climbFrom(from, trail);
  const begun = earliest([...trail.times(), ...known.map(({ at }) => at)]);

  // What waits is asked before what was decided, so that what is decided meanwhile is not missed.
  const uncommitted = await findUncommitted(fact.rootId, begun, world);
  for (const { logged } of uncommitted) await trail.climb(logged.position);
  const decided = await allDecisions(fact.rootId, known, begun ?? earliest(trail.times()), world);
  for (const { decision } of decided) await climbFrom(decision.from, trail);
  if (trail.nodes.size === 0 && decided.length === 0) return undefined;

  const followUps = new Map<Decided, FollowUp>();
  for (const each of decided) {
    const source = trail.nodes.get(each.decision.from ?? '')?.logged;
    const made = await followUp(each, source, world);
    if (made !== undefined) followUps.set(each, made);
  }
  const ends = [...followUps.values()].map(({ logged }) => logged.record.at);
  const lasts = decided.flatMap(({ logged }) => (logged === undefined ? [] : [logged.record.at]));
  const startedAt = earliest(trail.times()) ?? begun;
  const times = [...trail.times(), ...lasts, ...ends];
  return {
    rootId: fact.rootId,
    ...(startedAt !== undefined && { startedAt }),
    ...(times.length > 0 && { endedAt: Math.max(...times) }),
    about: await aboutOf(trail, decided, world),
    dropped: journey?.dropped ?? 0,
    hops: treeOf({ trail, decided, followUps, uncommitted, startedAt: startedAt ?? 0, world }),
  };
}

const earliest = (times: readonly number[]): number | undefined =>
  times.length === 0 ? undefined : Math.min(...times);

async function climbFrom(from: string | undefined, trail: Trail): Promise<void> {
  const position = from === undefined ? undefined : parsePosition(from);
  if (position !== undefined) await trail.climb(position);
}

/** What all routes of the fact have in common. */
async function aboutOf(trail: Trail, decided: readonly Decided[], { codec }: JourneyWorld): Promise<About> {
  const said: About[] = decided.map(({ decision }) => decision.about as About);
  for (const { logged } of trail.nodes.values()) {
    const read = logged === undefined ? undefined : await readValue(logged, codec);
    if (read !== undefined) said.push(read.topic.about?.(read.value) ?? {});
  }
  const all: About = Object.assign({}, ...said);
  const { agentUid: _agent, bindingName: _binding, actorEventId: _event, ...common } = all;
  return common;
}

interface Found {
  readonly trail: Trail;
  readonly decided: readonly Decided[];
  readonly followUps: ReadonlyMap<Decided, FollowUp>;
  readonly uncommitted: readonly Uncommitted[];
  readonly startedAt: number;
  readonly world: JourneyWorld;
}

/** Puts every record and decision under the record it came from. */
function treeOf({ trail, decided, followUps, uncommitted, startedAt, world }: Found): readonly Hop[] {
  const nodes = [...trail.nodes.values()];
  const timed = (at: number) => ({ at, sinceFirstMs: at - startedAt });
  const stageReading = (topic: string | undefined): string | undefined =>
    world.pipeline.find(({ input }) => input.name === topic)?.name;

  const recordHop = (node: Node, next: readonly Hop[], letter?: RecordHop['letter']): RecordHop => {
    const from = node.logged?.header?.from;
    const stage = stageReading(from?.topic);
    return {
      type: 'record',
      topic: node.position.topic,
      partition: node.position.partition,
      offset: String(node.position.offset),
      ...(node.logged !== undefined && timed(node.logged.record.at)),
      ...(stage !== undefined && { stage }),
      ...(from !== undefined && { effect: from.effect }),
      ...(letterOf(node.logged) !== undefined && { redriven: true as const }),
      ...(letter !== undefined && { letter }),
      next,
    };
  };

  const decisionHop = (each: Decided): DecisionHop => {
    const { decision, logged } = each;
    const { agentUid, bindingName, actorEventId } = decision.about;
    const made = followUps.get(each);
    const letter = made?.letter && { code: made.letter.code, details: made.letter.details };
    const after: Node | undefined = made && { position: made.logged.position, logged: made.logged, parent: undefined };
    return {
      type: 'decision',
      stage: decision.stage,
      status: decision.status,
      ...(decision.reason !== undefined && { reason: decision.reason }),
      ...(agentUid !== undefined && { agentUid }),
      ...(bindingName !== undefined && { bindingName }),
      ...(actorEventId !== undefined && { actorEventId }),
      ...(logged !== undefined && {
        topic: logged.position.topic,
        partition: logged.position.partition,
        offset: String(logged.position.offset),
        ...timed(logged.record.at),
      }),
      next: after === undefined ? [] : [recordHop(after, below(after), letter)],
    };
  };

  // A dead letter from which was redriven is on the way too; it is told below the decision that made it.
  const told = new Set([...followUps.values()].map(({ logged }) => positionText(logged.position)));

  const below = (node: Node): readonly Hop[] => {
    const key = positionText(node.position);
    const children = nodes
      .filter(({ parent, position }) => parent === key && !told.has(positionText(position)))
      .map(whole);
    const ends = decided.filter(({ decision }) => decision.from === key).map(decisionHop);
    if (children.length + ends.length > 0) return [...children, ...ends].sort(inTime);
    const waits = uncommitted.filter(({ logged }) => positionText(logged.position) === key);
    return waits.map(({ stage, lag }) => ({ type: 'waiting', stage, lag: String(lag), next: [] }));
  };
  const whole = (node: Node): RecordHop => recordHop(node, below(node));

  const tops = nodes.filter(({ parent }) => parent === undefined || !trail.nodes.has(parent)).map(whole);
  const alone = decided.filter(({ decision }) => !trail.nodes.has(decision.from ?? '')).map(decisionHop);
  return [...tops, ...alone].sort(inTime);
}

const timeOf = (hop: Hop): number => (hop.type === 'waiting' ? Infinity : (hop.at ?? 0));

const routeOf = (hop: Hop): string => {
  if (hop.type === 'record') return hop.effect ?? '';
  return hop.type === 'decision' ? `${hop.agentUid}|${hop.bindingName}` : '';
};

/** Earlier hops first; those of one instant by route, so that the same journey is always told the same way. */
const inTime = (a: Hop, b: Hop): number => timeOf(a) - timeOf(b) || (routeOf(a) < routeOf(b) ? -1 : 1);

import { actorEvents, sessionKey, sessionOfChannel } from '../../schemas/actor-event.ts';
import { bindingKey } from '../../schemas/binding.ts';
import { type DeadLetter, deadLetters } from '../../schemas/dead-letter.ts';
import { type Decision, decisions } from '../../schemas/decision.ts';
import { partitionOf } from '../partition.ts';
import type { LoggedRecord } from './log-reader.ts';
import { positionText } from './position.ts';
import type { JourneyWorld } from './world.ts';

/** A decision, and the record that carries it, where that was found. */
export interface Decided {
  readonly decision: Decision;
  readonly logged: LoggedRecord | undefined;
}

/** What came of a decision: an actor event, or a dead letter with what it says. */
export interface FollowUp {
  readonly logged: LoggedRecord;
  readonly letter: DeadLetter | undefined;
}

/** Brokers' clocks differ: a record may be dated a little before the one it came from. */
export const clockSlackMs = 5_000;
const scanLimit = 20_000;

const identity = ({ stage, from, status, about }: Decision): string =>
  JSON.stringify([stage, from, status, about.agentUid, about.bindingName]);

/** The decisions of the journal together with those that lie in the log since the fact began, which may be newer. */
export async function allDecisions(
  rootId: string,
  known: readonly Decision[],
  startedAt: number | undefined,
  { log, codec }: JourneyWorld,
): Promise<readonly Decided[]> {
  const all = new Map<string, Decided>(known.map((decision) => [identity(decision), { decision, logged: undefined }]));
  if (startedAt === undefined) return [...all.values()];
  const topic = decisions.name;
  const partition = partitionOf(rootId, (await log.bounds(topic)).length);
  const from = await log.offsetAt(topic, partition, startedAt - clockSlackMs);
  for await (const logged of log.scan({ topic, partition, from, limit: scanLimit })) {
    // By the key, since what the edge itself decides comes without a header.
    if (logged.record.key?.toString('utf8') !== rootId) continue;
    const decoded = await codec.decode(decisions, logged.record.value);
    if (decoded.type !== 'value') continue;
    const key = identity(decoded.value);
    // A crash writes a decision twice; the first one is the one that counts.
    if (all.get(key)?.logged === undefined) all.set(key, { decision: decoded.value, logged });
  }
  return [...all.values()];
}

/** Finds what came of a decision, by a bounded look at where its key puts it, and then at the other partitions. */
export async function followUp(
  { decision, logged }: Decided,
  source: LoggedRecord | undefined,
  world: JourneyWorld,
): Promise<FollowUp | undefined> {
  const target = targetOf(decision, source);
  if (target === undefined || decision.from === undefined) return undefined;
  const { log, codec } = world;
  const since = (logged?.record.at ?? decision.at) - clockSlackMs;
  const count = (await log.bounds(target.topic)).length;
  const likely = partitionOf(target.key, count);
  const others = Array.from({ length: count }, (_, partition) => partition).filter((partition) => partition !== likely);
  for (const partition of [likely, ...others]) {
    const from = await log.offsetAt(target.topic, partition, since);
    for await (const made of log.scan({ topic: target.topic, partition, from, limit: scanLimit })) {
      const cause = made.header?.from;
      if (cause === undefined || positionText(cause) !== decision.from || !target.effect(cause.effect)) continue;
      const letter = target.topic === deadLetters.name ? await codec.decode(deadLetters, made.record.value) : undefined;
      return { logged: made, letter: letter?.type === 'value' ? letter.value : undefined };
    }
  }
  return undefined;
}

function targetOf({ rootId, status, about }: Decision, source: LoggedRecord | undefined) {
  if (status === 'accepted' && about.actorEventId !== undefined) {
    const sessionId = about.signalChannelId === undefined ? '' : sessionOfChannel(about.signalChannelId);
    return {
      topic: actorEvents.name,
      key: sessionKey({ agentUid: about.agentUid ?? '', sessionId }),
      effect: () => true,
    };
  }
  if (status === 'dead_letter') {
    const part = `dead:${bindingKey({ agentUid: about.agentUid ?? '', name: about.bindingName ?? '' })}`;
    return {
      topic: deadLetters.name,
      key: source?.record.key?.toString('utf8') ?? rootId,
      effect: (effect: string) => effect === 'dead:' || effect === part,
    };
  }
  return undefined;
}

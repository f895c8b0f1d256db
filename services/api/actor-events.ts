import { type ActorEvent, actorEvents, sessionKey } from '../../schemas/actor-event.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import type { Codec } from '../../shared/runtime/codec.ts';
import { lookBack } from './look-back.ts';

/** Which of an agent's events are wanted. */
export interface ActorEventPage {
  readonly agentUid: string;
  readonly sessionId?: string | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** An actor event as it lies in the log; `position` is what `signalbox why` takes. */
export interface LoggedEvent {
  readonly position: string;
  /** When it was appended, epoch milliseconds. */
  readonly at: number;
  readonly event: ActorEvent;
}

/** A page of events, the newest first, and how far back it looked for them; `next` is absent on the last one. */
export interface FoundEvents {
  readonly events: readonly LoggedEvent[];
  readonly looked: number;
  readonly backTo: number | undefined;
  readonly next: string | undefined;
}

/** An event may hold many messages: a page ends before it is larger than this, but never before its first event. */
const maxPageBytes = 2_097_152;

/** Finds an agent's events in the log. Those of other agents are told by their key, and not decoded. */
export async function actorEventsOf(
  world: { readonly bus: Pick<Bus, 'offsets' | 'read'>; readonly codec: Codec; readonly look: number },
  { agentUid, sessionId, limit, cursor }: ActorEventPage,
): Promise<FoundEvents> {
  const topic = actorEvents.name;
  const key = sessionId === undefined ? undefined : sessionKey({ agentUid, sessionId });
  const ofAgent = sessionKey({ agentUid, sessionId: '' });
  const isTheirs = (text: string): boolean => (key === undefined ? text.startsWith(ofAgent) : text === key);
  const events: LoggedEvent[] = [];
  const seen = new Set<string>();
  let bytes = 0;

  const end = await lookBack(world.bus, { topic, key, cursor, look: world.look }, async ({ record, partition }) => {
    const text = record.key?.toString('utf8') ?? '';
    if (!isTheirs(text)) return true;
    const decoded = await world.codec.decode(actorEvents, record.value);
    if (decoded.type !== 'value') return true;
    // A process that died after it had sent sends again: the same id in the same session.
    const id = JSON.stringify([text, decoded.value.id]);
    if (seen.has(id)) return true;
    bytes += record.value?.length ?? 0;
    if (events.length === limit || (events.length > 0 && bytes > maxPageBytes)) return false;
    seen.add(id);
    events.push({ position: `${topic}/${partition}/${record.offset}`, at: record.at, event: decoded.value });
    return true;
  });
  return { events, ...end };
}

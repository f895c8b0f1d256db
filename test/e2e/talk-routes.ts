import { signalboxJson } from '../integration/signalbox.ts';
import { type Fact, joined, type RawFact, type RouteOfFact, type Windows } from './checker/contract.ts';
import type { Conversations } from './checker/conversations.ts';
import type { OutsideClient } from './kafka.ts';
import type { LoadRecord } from './load.ts';
import { secretKeys } from './routes.ts';

/** What a fact of a conversation says; its channel is named as the chat names it. */
export type Said = Omit<Fact, 'connectionId'>;

/** Conversations of a connection of their own, on some routes. */
export interface Talk extends Conversations {
  readonly connectionId: string;
}

const provider = 'typed-facts';

/** When the first thing of a load was said. */
export const epoch = Date.parse('2031-02-28T06:00:00Z');

/** The agents that a load speaks to. */
export const agentsOf = (mark: string) => [`${mark}-a`, `${mark}-b`] as const;

/** Conversations on three routes to two agents, one for each thing that a message to nobody may do, all with short windows. */
export function shortTalk(mark: string): Talk {
  const [a, b] = agentsOf(mark);
  const routes = [
    routeOf(a, { policy: 'ignore', addressedMs: 400, neutralMs: 900, ambientMs: 1_000 }),
    routeOf(a, { policy: 'record_only', addressedMs: 1_500, neutralMs: 300, ambientMs: 1_000 }),
    routeOf(b, { policy: 'may_intervene', addressedMs: 700, neutralMs: 300, ambientMs: 2_500 }),
  ];
  return { mark, connectionId: mark, tells: tellsOfTalk, routes };
}

/** Conversations with one agent, with a window in which a test can do something. */
export function patientTalk(mark: string): Talk {
  const windows = { addressedMs: 2_000, neutralMs: 2_000, ambientMs: 2_000 };
  const routes = [routeOf(agentsOf(mark)[0], { policy: 'record_only', ...windows })];
  return { mark, connectionId: mark, tells: tellsOfTalk, routes };
}

function routeOf(
  agentUid: string,
  { policy, ...windows }: Pick<Windows, 'addressedMs' | 'neutralMs' | 'ambientMs'> & { readonly policy: string },
): RouteOfFact {
  const { addressedMs, ambientMs } = windows;
  const longer = { addressedAttachmentsMs: addressedMs + 300, addressedLongTextMs: addressedMs + 600 };
  return {
    agentUid,
    bindingName: policy,
    adapter: provider,
    unaddressedGroupMessagePolicy: policy,
    windows: { ...windows, ...longer, ambientMostMs: ambientMs * 3 },
  };
}

/** Stores the connection, and the bindings that make the routes, for processes that start from now on. */
export async function configureTalk(
  settings: Readonly<Record<string, string>>,
  client: Pick<OutsideClient, 'publish'>,
  { connectionId, routes }: Talk,
): Promise<void> {
  const configured = { ...settings, ...secretKeys, HOOK: Buffer.alloc(24, 7).toString('base64') };
  const secret = ['--provider', provider, '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(configured, 'connections', 'put', connectionId, ...secret);
  await client.publish(
    'bindings',
    routes.map(({ bindingName: name, ...route }) => ({
      key: joined(route.agentUid, name),
      fact: { ...route, name, connectionId, filters: {}, enabled: true, unavailableReason: null, updatedAt: epoch },
    })),
  );
}

/** Something said, as whoever holds a chat's socket open publishes it. */
export function published(said: Said, { connectionId }: Pick<Talk, 'connectionId'>, id?: string): LoadRecord {
  const signalChannelId = `${provider}:${connectionId}:${said.signalChannelId}`;
  const fact: RawFact = {
    ...(id !== undefined && { id }),
    ...{ provider, connectionId, kind: 'facts', eventId: said.sourceEventId, event: said.type, signalChannelId },
    ...{ receivedAt: epoch, body: JSON.stringify(said), bodyEncoding: 'utf-8' },
  };
  return { key: signalChannelId, fact };
}

/** What such a body tells, read once more by hand. */
export function tellsOfTalk({ body, connectionId, eventId }: RawFact): Readonly<Partial<Fact>> {
  // Bodies are those of `published`.
  const { type, signalChannelId, sourceEntryId, text, sentAt, providerTime, edited, explicit } = JSON.parse(
    body,
  ) as Said;
  const told = { text, sentAt, providerTime, edited, explicit };
  return {
    type,
    signalChannelId: `${provider}:${connectionId}:${signalChannelId}`,
    sourceEntryId,
    ...(eventId !== undefined && { providerEventId: eventId }),
    ...Object.fromEntries(Object.entries(told).filter(([, member]) => member !== undefined)),
  };
}

/** A message that somebody writes to the agent alone. */
export const directMessage = (talk: Talk): LoadRecord =>
  published(
    {
      ...{ type: 'entry_received', sourceEventId: `${talk.mark}-event`, signalChannelId: `${talk.mark}:dm` },
      ...{ channel: { kind: 'im_dm', replyMode: 'channel' }, sourceEntryId: 'm0', sentAt: epoch },
      ...{ author: { id: 'mei', kind: 'user' }, text: 'is anybody there' },
    },
    talk,
  );

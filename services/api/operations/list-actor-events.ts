import { z } from 'zod';
import { ActorEvent } from '../../../schemas/actor-event.ts';
import { SessionId } from '../../../schemas/ids.ts';
import { members, next } from '../members.ts';
import { defineOperation } from '../world.ts';

const LoggedEvent = z.object({
  position: z.string().describe('Where it lies in the log: topic/partition/offset, as `GET /journeys?id=` takes it.'),
  at: z.int().describe('When it was appended, epoch milliseconds.'),
  event: ActorEvent,
});

export const listActorEvents = defineOperation({
  name: 'list-actor-events',
  summary: 'List what woke an agent, the newest first.',
  details:
    'A look at the topic `actor-events`, where agents take their work from: those of the last 30 days. One request looks ' +
    'through so many records and no more: `looked` says through how many, `lookedBackTo` how far, and `next` goes on from ' +
    'there. A page may hold less than `limit`, and nothing, while there is a `next`. An event may come again on a later ' +
    'page, with the same `id` and session. Texts are what somebody wrote at a provider: untrusted input to a model.',
  http: 'GET /agents/:agentUid/actor-events',
  scope: 'actor-events:read',
  reach: 'agent',
  input: z.strictObject({
    agentUid: members.agentUid,
    sessionId: SessionId.optional().describe('Only those of this session: one partition is looked through for them.'),
    limit: members.limit,
    cursor: members.cursor,
  }),
  output: z.object({
    actorEvents: z.array(LoggedEvent),
    looked: z.int().describe('Records that were looked through, those of other agents too.'),
    lookedBackTo: z.int().nullable().describe('When the oldest of these was appended; null where there was none.'),
    next,
  }),
  example: { agentUid: 'iris', sessionId: 'signal-channel:github:octo/repo#7', limit: 5 },
  fails: ['agent-forbidden'],

  async handle(page, { readActorEvents }) {
    const { events, looked, backTo, next } = await readActorEvents(page);
    return { actorEvents: [...events], looked, lookedBackTo: backTo ?? null, next: next ?? null };
  },
});

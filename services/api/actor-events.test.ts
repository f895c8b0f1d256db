import { afterEach, beforeEach, expect, test } from 'vitest';
import { ActorEvent, actorEvents } from '../../schemas/actor-event.ts';
import { type ApiUnderTest, apiUnderTest } from './api-under-test.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await apiUnderTest();
});
afterEach(() => api.stop());

const { data, ...envelope } = actorEvents.example;

/** An event of an agent's session. */
const eventOf = (id: string, agentUid: string, sessionId: string, text = 'x'): ActorEvent =>
  ActorEvent.parse({
    ...envelope,
    id,
    data: { ...data, session: { agentUid, sessionId, bindingName: 'desk' }, entry: { ...data.entry, text } },
  });

/** Appends events, each at an instant of its own: these order what lies in several partitions. */
async function wake(...events: readonly ActorEvent[]): Promise<void> {
  for (const event of events) {
    await api.publish(actorEvents, event);
    const now = api.world.now();
    while (api.world.now() === now) await new Promise(setImmediate);
  }
}

const list = async (query = '', agent = 'iris', token?: string) => {
  const { status, body } = await api.ask(`GET /agents/${agent}/actor-events?${query}`, {
    ...(token !== undefined && { token }),
  });
  const found = body.actorEvents as readonly { readonly event: ActorEvent }[] | undefined;
  return { status, ids: found?.map(({ event }) => event.id), body };
};

test("an agent's events come newest first from all its sessions, and nobody else's", async () => {
  const theirs = Array.from({ length: 8 }, (_, index) => eventOf(`e${index}`, 'iris', `s${index % 4}`));
  await wake(eventOf('x', 'zoe', 's1'), ...theirs, eventOf('y', 'iris-2', 's1'), eventOf('z', 'iri', 's'));
  const { status, ids, body } = await list('', 'IRIS');
  expect({ status, ids }).toEqual({ status: 200, ids: ['e7', 'e6', 'e5', 'e4', 'e3', 'e2', 'e1', 'e0'] });
  expect(body).toMatchObject({ looked: 11, lookedBackTo: expect.any(Number), next: null });
  expect(body.actorEvents).toContainEqual({
    position: expect.stringMatching(/^actor-events\/[0-2]\/\d+$/),
    at: expect.any(Number),
    event: theirs[3],
  });
  expect(await list('', 'nobody')).toMatchObject({ status: 200, ids: [], body: { looked: 11, next: null } });
});

test("a session's events are looked for in its partition alone, whatever its id holds", async () => {
  const sessionId = 'signal-channel:chat|50% off';
  await wake(eventOf('a', 'iris', sessionId), eventOf('b', 'iris', 's'), eventOf('c', 'iris', sessionId));
  const { ids, body } = await list(`sessionId=${encodeURIComponent(sessionId)}`);
  expect(ids).toEqual(['c', 'a']);
  expect(body.looked).toBeLessThanOrEqual(3);
  expect((await list('sessionId=none')).ids).toEqual([]);
});

test('a token for some agents sees the events of these alone, and needs the scope of its own', async () => {
  await wake(eventOf('a', 'iris', 's'), eventOf('b', 'zoe', 's'));
  const ofZoe = await api.token({ agents: ['zoe'], scopes: ['actor-events:read'] });
  expect(await list('', 'iris', ofZoe)).toMatchObject({ status: 403, body: { code: 'agent-forbidden' } });
  expect(await list('', 'zoe', ofZoe)).toMatchObject({ status: 200, ids: ['b'] });
  const ofMirror = await api.token({ scopes: ['mirror:read', 'bindings:read', 'journeys:read'] });
  expect(await list('', 'zoe', ofMirror)).toMatchObject({
    status: 403,
    body: { code: 'scope-missing', details: { scope: 'actor-events:read' } },
  });
});

test('an event that was sent twice is on a page once; one id in two sessions is two events', async () => {
  const sent = eventOf('a', 'iris', 's');
  await wake(sent, sent, eventOf('a', 'iris', 't'));
  const { body } = await list();
  const found = body.actorEvents as readonly { readonly event: ActorEvent }[];
  expect(found.map(({ event }) => event.data.session.sessionId)).toEqual(['t', 's']);
});

test('pages lead back to the first event, and what comes meanwhile is on none of them', async () => {
  await wake(...Array.from({ length: 7 }, (_, index) => eventOf(`e${index}`, 'iris', `s${index % 3}`)));
  const first = await list('limit=3');
  await wake(eventOf('late', 'iris', 's0'));
  const second = await list(`limit=3&cursor=${String(first.body.next)}`);
  const third = await list(`limit=3&cursor=${String(second.body.next)}`);
  expect([first.ids, second.ids, third.ids]).toEqual([['e6', 'e5', 'e4'], ['e3', 'e2', 'e1'], ['e0']]);
  expect(third.body.next).toBeNull();
  const session = await list(`sessionId=s0&cursor=${String(first.body.next)}`);
  expect(session).toMatchObject({ status: 422, body: { code: 'input-invalid' } });
});

test('one request looks at no more records than the setting says, tells how far that was, and leads on', async () => {
  const few = await apiUnderTest({ settings: { lookRecords: 100 } });
  await api.stop();
  api = few;
  await api.publish(actorEvents, eventOf('first', 'iris', 's'));
  for (let count = 0; count < 149; count++) await api.publish(actorEvents, eventOf(`${count}`, 'zoe', 's'));
  const { ids, body } = await list();
  expect({ ids, looked: body.looked }).toEqual({ ids: [], looked: 100 });
  expect(body.lookedBackTo).toBeLessThanOrEqual(api.world.now());
  const rest = await list(`cursor=${String(body.next)}`);
  expect(rest).toMatchObject({ ids: ['first'], body: { looked: 50, next: null } });
});

test('a page of large events ends early, and never before its first', async () => {
  const text = 'x'.repeat(700_000);
  await wake(...['a', 'b', 'c', 'd'].map((id) => eventOf(id, 'iris', 's', text)));
  const first = await list();
  expect(first.ids).toEqual(['d', 'c']);
  expect((await list(`cursor=${String(first.body.next)}`)).ids).toEqual(['b', 'a']);
});

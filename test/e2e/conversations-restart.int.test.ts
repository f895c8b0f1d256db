import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { gist } from '../../shared/testing/chat.ts';
import { type Conversation, removed } from './conversation.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { runServices, type ServiceProcess, stop, untilReady } from './product.ts';

vi.setConfig({ maxConcurrency: 100 });

const infrastructure = inject('infrastructure');
const run = `again-${randomUUID().slice(0, 8)}`;
const iris = `${run}-iris`;
// Long enough that the stage is killed before, short enough that it is over before another one has the partitions.
const windowMs = 6_000;
const rules = {
  still: { agentUid: iris, windows: { addressedMs: 3_600_000 } },
  asked: { agentUid: iris, policy: 'ignore', windows: { addressedMs: windowMs, neutralMs: windowMs } },
  ambient: { agentUid: iris, policy: 'may_intervene', windows: { ambientMs: windowMs } },
} as const;
const toIris = { mentions: [{ kind: 'bot', agentUid: iris }] };

let gateway: Gateway;
let others: ServiceProcess;
let projector: ServiceProcess;
let talks: Readonly<Record<'asked' | 'interrupted' | 'ambient' | 'thinned', Conversation>>;

beforeAll(async () => {
  gateway = await openGateway(infrastructure, run, rules);
  const settings = { ...gateway.settings, KAFKA_SESSION_TIMEOUT_MS: '6000' };
  const runProjector = () => runServices(['mirror-projector'], settings);
  [others, projector] = await Promise.all([
    runServices(['normalizer', 'filter', 'decision-journal'], settings),
    runProjector(),
  ]);
  await Promise.all([untilReady(others), untilReady(projector)]);

  const [asked, interrupted] = [gateway.talk('asked'), gateway.talk('still')];
  const [ambient, thinned] = [gateway.talk('ambient'), gateway.talk('ambient')];
  talks = { asked, interrupted, ambient, thinned };
  const all = Object.values(talks);
  await Promise.all([
    asked.tell({ id: 'a', text: 'a' }, { id: 'b', text: 'b', fact: toIris }),
    interrupted.tell({ id: 'a', text: 'a', fact: toIris }, { id: 'b', text: 'b', fact: toIris }),
    ambient.tell({ id: 'a', text: 'a' }),
    thinned.tell({ id: 'a', text: 'a' }, { id: 'b', text: 'b', by: 'jonas' }),
  ]);
  await Promise.all(all.map((each) => each.ends()));

  projector.child.kill('SIGKILL');
  expect(await projector.ended).toMatchObject({ signal: 'SIGKILL' });
  // It was killed while all of them waited.
  for (const each of all) {
    expect(await each.open()).toHaveLength(1);
    expect(await each.events(0)).toEqual([]);
  }
  await Promise.all([interrupted.tell({ id: 'c', text: 'c', by: 'jonas', fact: toIris }), thinned.tell(removed('a'))]);
  projector = await runProjector();
  await untilReady(projector);
});
afterAll(async () => {
  try {
    expect(await gateway.unexpected()).toEqual([]);
  } finally {
    expect(await Promise.all([others, projector].map(stop))).toMatchObject([{ code: 0 }, { code: 0 }]);
    await gateway.close();
  }
});

describe.concurrent('a stage that is killed while messages wait, and comes back', () => {
  test('29, 37: a request whose time was over meanwhile is handed over once, and mirrored', async () => {
    const { asked } = talks;
    const [event] = await asked.events(1);
    expect(event && gist(event)).toBe('im.message.addressed: "a\\nb" a+b');
    await vi.waitFor(async () => expect(await asked.entry('a')).toMatchObject({ text: 'a' }), { timeout: 30_000 });
    const { firstSeenAt = 0 } = (await asked.entry('b')) ?? {};
    expect(event?.data.availableAt).toBeGreaterThanOrEqual(firstSeenAt + windowMs);
    const handedOver = asked.decisions().filter(({ status }) => status === 'handed_over');
    expect(handedOver.map(({ about }) => about.sourceEntryId).toSorted()).toEqual(['a', 'b']);
    expect(await asked.open()).toEqual([]);
    await asked.tell({ id: 'c', text: 'c', fact: toIris });
    expect((await asked.events(2)).map(gist).at(-1)).toBe('im.message.addressed: "c" c');
  });

  test('34: what another person asked meanwhile closes a request that waited before', async () => {
    const { interrupted } = talks;
    expect((await interrupted.events(1)).map(gist)).toEqual(['im.message.addressed: "a\\nb" a+b']);
    expect(await interrupted.open()).toMatchObject([{ mode: 'addressed', requesterSenderKey: 'jonas' }]);
  });

  test('26: what the agent may answer unasked is one event', async () => {
    const [event] = await talks.ambient.events(1);
    expect(event && gist(event)).toBe('im.message.may_intervene: "a" a');
    expect(event?.data).not.toHaveProperty('senderKey');
  });

  test('84: what was removed meanwhile is not in it', async () => {
    const { thinned } = talks;
    expect((await thinned.events(1)).map(gist)).toEqual(['im.message.may_intervene: "b" b']);
    expect(await thinned.entry('a')).toBeUndefined();
  });
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { z } from 'zod';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { Channel, channels } from '../../schemas/mirror.ts';
import { exampleFact } from '../../schemas/normalized-fact.ts';
import { type ApiUnderTest, apiUnderTest } from './api-under-test.ts';

let api: ApiUnderTest;
/** The clock of everything here: what is mirrored was seen at the very instant at which its record was appended. */
let now = Date.now();
beforeEach(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  api = await apiUnderTest();
});
afterEach(async () => {
  await api.stop();
  vi.restoreAllMocks();
});

/** A fact of a channel that passed a binding. */
const happen = async (id: string): Promise<void> => {
  const fact = { ...exampleFact, signalChannelId: id };
  await api.publish(acceptedFacts, acceptedFacts.value.parse({ ...acceptedFacts.example, fact }));
};

/** The mirror's row of a channel that was seen now, unless told otherwise. */
const mirror = (id: string, more: Partial<z.input<typeof Channel>> = {}): Promise<void> => {
  const said = { kind: 'im_group', replyMode: 'channel', name: null, visibility: null, metadata: {} };
  return api.putRow(channels.at(id), Channel.parse({ id, ...said, firstSeenAt: 1, lastSeenAt: now, ...more }));
};

/** A fact of a channel, and what the mirror-projector makes of it, an instant later than all before. */
async function show(id: string): Promise<void> {
  now += 1;
  await happen(id);
  await mirror(id);
}

const list = async (query = '') => {
  const { status, body } = await api.ask(`GET /signal-channels?${query}`);
  const found = body.signalChannels as readonly { readonly id: string }[] | undefined;
  return { status, ids: found?.map(({ id }) => id), next: body.next };
};

/** All pages from a cursor on, as a caller reads them. */
async function pages(query: string, from?: unknown): Promise<readonly (readonly string[])[]> {
  const all: (readonly string[])[] = [];
  for (let cursor = from; cursor !== null; ) {
    const page = await list(`${query}${cursor === undefined ? '' : `&cursor=${String(cursor)}`}`);
    expect(page.status).toBe(200);
    all.push(page.ids ?? []);
    cursor = page.next;
  }
  return all;
}

test('channels come once each, by what happened last, from all partitions', async () => {
  const ids = Array.from({ length: 9 }, (_, index) => `chat:${index}`);
  for (const id of [...ids, ...ids, 'chat:4', 'chat:4']) await show(id);
  now += 1;
  await happen('chat:nobody-mirrored-yet');
  const expected = ['chat:4', ...ids.filter((id) => id !== 'chat:4').reverse()];
  expect(await list()).toEqual({ status: 200, ids: expected, next: null });
  for (const limit of [1, 2, 4]) expect((await pages(`limit=${limit}`)).flat()).toEqual(expected);
});

test('channels are listed by kind', async () => {
  await mirror('chat:a', { kind: 'im_dm' });
  await mirror('chat:b');
  for (const id of ['chat:a', 'chat:b']) await happen(id);
  expect(await list('kind=im_dm')).toEqual({ status: 200, ids: ['chat:a'], next: null });
  expect(await list('kind=issue')).toEqual({ status: 200, ids: [], next: null });
  expect(await list('kind=room')).toMatchObject({ status: 422 });
});

test('a busy channel is on one page alone, however many facts it has', async () => {
  const few = await apiUnderTest({ settings: { lookRecords: 100 } });
  await api.stop();
  api = few;
  await show('chat:quiet');
  for (let count = 0; count < 250; count++) await show('chat:busy');
  const all = await pages('');
  expect(all.flat()).toEqual(['chat:busy', 'chat:quiet']);
  expect(all.length).toBeGreaterThan(2);
});

test('channels that were seen in one instant come once each too, whatever page they end', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `chat:${index}`);
  for (const id of ids) await show(id);
  now += 1;
  for (const id of ids) await happen(id);
  for (const id of ids) await mirror(id);
  for (const limit of [1, 5]) expect((await pages(`limit=${limit}`)).flat().sort()).toEqual(ids.toSorted());
});

test('a channel in which something happens between two pages is on a new first page', async () => {
  for (const id of ['chat:a', 'chat:b', 'chat:c']) await show(id);
  const first = await list('limit=1');
  await show('chat:a');
  expect(first.ids).toEqual(['chat:c']);
  expect((await pages('limit=1', first.next)).flat()).toEqual(['chat:b']);
  expect((await list('limit=1')).ids).toEqual(['chat:a']);
});

test('one request looks at no more records than the setting says, and its answer leads on', async () => {
  const few = await apiUnderTest({ settings: { lookRecords: 100 } });
  await api.stop();
  api = few;
  await mirror('chat:first');
  await happen('chat:first');
  for (let count = 0; count < 150; count++) await happen('chat:gone');
  expect(await pages('')).toEqual([[], ['chat:first']]);
});

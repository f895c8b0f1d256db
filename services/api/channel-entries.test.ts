import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { Entry, entries } from '../../schemas/mirror.ts';
import { exampleFact } from '../../schemas/normalized-fact.ts';
import { type ApiUnderTest, apiUnderTest } from './api-under-test.ts';

const signalChannelId = 'chat:team';
const file = { name: 'plan.pdf', providerRef: 'f1' };

let api: ApiUnderTest;

/** A fact of an entry that passed a binding, and the mirror's row of it. */
async function say(sourceEntryId: string, author: string, more: Partial<z.input<typeof Entry>> = {}): Promise<void> {
  const fact = { ...exampleFact, signalChannelId, sourceEntryId };
  await api.publish(acceptedFacts, acceptedFacts.value.parse({ ...acceptedFacts.example, fact }));
  const said = { providerThreadId: null, replyToSourceEntryId: null, title: null, text: 'x', links: [], metadata: {} };
  const times = { providerTime: null, firstSeenAt: 1, lastSeenAt: 1 };
  const ids = { signalChannelId, sourceEntryId, documentId: 'd', contentHash: 'h' };
  const row = Entry.parse({ ...ids, ...said, ...times, author: { id: author, kind: 'user' }, ...more });
  await api.putRow(entries.at({ signalChannelId, sourceEntryId }), row);
}

beforeAll(async () => {
  api = await apiUnderTest();
  await say('said', 'mei');
  await say('file', 'mei', { attachments: [file] });
  await say('principal', 'u-88', { attachments: [file], author: { id: 'u-88', kind: 'user', principalUid: 'mei' } });
  for (let count = 0; count < 25; count++)
    await say(`other-${count}`, 'zoe', count === 7 ? { attachments: [file] } : {});
});
afterAll(() => api.stop());

const list = async (query: string) => {
  const { status, body } = await api.ask(`GET /signal-channels/${signalChannelId}/signal-entries?${query}`);
  const found = body.signalEntries as readonly { readonly sourceEntryId: string }[] | undefined;
  return { status, ids: found?.map(({ sourceEntryId }) => sourceEntryId), next: body.next };
};

test("152: an author's recent files are found behind 25 messages of others, and an unknown author has none", async () => {
  expect(await list('author=mei&withAttachments=true')).toEqual({
    status: 200,
    ids: ['principal', 'file'],
    next: null,
  });
  expect(await list('author=mei&withAttachments=true&limit=2')).toMatchObject({ ids: ['principal', 'file'] });
  expect(await list('author=nobody&withAttachments=true')).toEqual({ status: 200, ids: [], next: null });
  expect(await list('author=nobody')).toEqual({ status: 200, ids: [], next: null });
});

test('an author is named by the id at the provider too, with files or without', async () => {
  expect((await list('author=mei')).ids).toEqual(['principal', 'file', 'said']);
  expect((await list('author=u-88&withAttachments=false')).ids).toEqual(['principal']);
  expect((await list('withAttachments=true')).ids).toEqual(['other-7', 'principal', 'file']);
});

test('pages of what is wanted go on where the last one ended', async () => {
  const first = await list('author=mei&limit=1');
  expect(first).toMatchObject({ ids: ['principal'], next: expect.any(String) });
  const second = await list(`author=mei&limit=1&cursor=${String(first.next)}`);
  expect(second).toMatchObject({ ids: ['file'], next: expect.any(String) });
  expect(await list(`author=mei&limit=1&cursor=${String(second.next)}`)).toEqual({
    status: 200,
    ids: ['said'],
    next: null,
  });
});

test.each(['withAttachments=yes', 'author=', 'cursor=abc', 'cursor=1-2-3', 'cursor=3', 'before=3'])(
  '%s is refused',
  async (query) => {
    expect(await list(query)).toMatchObject({ status: 422 });
  },
);

import { existsSync } from 'node:fs';
import { type GeneratedFile, jsonText, root } from './file.ts';

const kebabCase = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/** The files of a provider that works, for a person to go on from; or why there are none. */
export function newProvider(name: string): readonly GeneratedFile[] | { readonly refused: string } {
  if (!kebabCase.test(name))
    return { refused: `"${name}" is no name in kebab-case: small letters, digits, single dashes` };
  const folder = `shared/providers/${name}`;
  if (existsSync(new URL(`${folder}/`, root))) return { refused: `${folder} exists` };
  const title = name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
  return [
    { path: `${folder}/index.ts`, text: declaration(name, title) },
    { path: `${folder}/payload.ts`, text: payload(title) },
    { path: `${folder}/${name}.test.ts`, text: test(title) },
    { path: `${folder}/fixtures/note_written.json`, text: jsonText(delivery) },
    { path: `${folder}/fixtures/note_written.facts.json`, text: jsonText(facts(name)) },
    { path: `${folder}/README.md`, text: readme(name, title) },
  ];
}

const delivery = {
  name: 'note_written',
  about: 'A note, made up: put a recorded one in its place.',
  request: { headers: { 'content-type': 'application/json' } },
  body: { type: 'note.written', id: 'n1', board: 'kitchen', author: 'ada', text: 'The kettle is on.' },
  anchors: { fact: 'entry', entryId: 'note:n1' },
};

const facts = (name: string) => ({
  identity: { eventId: 'n1', event: 'note.written', signalChannelId: `${name}:kitchen` },
  normalization: {
    type: 'facts',
    facts: [
      {
        type: 'entry_received',
        signalChannelId: `${name}:kitchen`,
        sourceEntryId: 'note:n1',
        channel: { kind: 'alert_stream', replyMode: 'none', name: 'kitchen' },
        author: { id: 'ada', kind: 'unknown' },
        text: 'The kettle is on.',
        actorEventType: `${name}.note.written`,
      },
    ],
  },
});

const declaration = (name: string, title: string): string => `import { z } from 'zod';
import { SignalChannelId, SourceEntryId } from '../../../schemas/ids.ts';
import { defineProvider, issuesOf, originIn, ownIds, parseJson } from '../../provider.ts';
import { secret } from '../../secret.ts';
import { hmac, isEqual } from '../../signature.ts';
import { NoteWritten } from './payload.ts';

const config = z.strictObject({
  webhookSecret: secret().describe('Signs each request.'),
  ...ownIds,
});

const channelOf = ({ board }: NoteWritten) => SignalChannelId.parse(\`${name}:\${board}\`);

/** ${title}: notes, in. */
export const provider = defineProvider<z.infer<typeof config>>({
  name: '${name}',
  title: '${title}',
  config,
  kinds: ['events'],
  keepHeaders: ['content-type'],

  verify({ headers, body }, { webhookSecret }) {
    const given = headers['x-signature'];
    if (given === undefined) return { ok: false, reason: 'x-signature is missing' };
    const expected = hmac({ algorithm: 'sha256', key: webhookSecret, content: body, encoding: 'hex' });
    return isEqual(expected, given) ? { ok: true } : { ok: false, reason: 'x-signature does not match' };
  },

  identify({ body }) {
    const note = NoteWritten.safeParse(parseJson(body.toString('utf8')));
    if (!note.success) return undefined;
    return { eventId: note.data.id, event: note.data.type, signalChannelId: channelOf(note.data) };
  },

  normalize({ event, body }) {
    if (event !== 'note.written') return { type: 'ignored', reason: event ?? 'no event' };
    const note = NoteWritten.safeParse(body);
    if (!note.success) return { type: 'invalid', issues: issuesOf(note.error) };
    const { id, board, author, text } = note.data;
    return {
      type: 'facts',
      facts: [
        {
          type: 'entry_received',
          signalChannelId: channelOf(note.data),
          sourceEntryId: SourceEntryId.parse(\`note:\${id}\`),
          channel: { kind: 'alert_stream', replyMode: 'none', name: board },
          author: { id: author, kind: 'unknown' },
          text,
          actorEventType: '${name}.note.written',
        },
      ],
    };
  },

  origin: originIn,
});
`;

const payload = (title: string): string => `import { z } from 'zod';

/** A note as ${title} sends it: the members that are read. */
export const NoteWritten = z.object({
  type: z.literal('note.written'),
  id: z.string().min(1).max(200),
  board: z.string().min(1).max(200),
  author: z.string().min(1).max(200),
  text: z.string(),
});
export type NoteWritten = z.infer<typeof NoteWritten>;
`;

const test = (title: string): string => `import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../provider.ts';
import { Secret } from '../../secret.ts';
import { hmac } from '../../signature.ts';
import { deliveriesIn, golden } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';

const folder = new URL('./fixtures/', import.meta.url);
const update = process.env.UPDATE_GOLDEN === '1';
const webhookSecret = new Secret('correct horse');

const request = (body: Buffer, headers: WebhookRequest['headers'] = {}): WebhookRequest => ({
  kind: 'events',
  connectionId: 'home',
  headers,
  query: {},
  body,
});

test.each(deliveriesIn(folder))('$name becomes its golden facts', ({ name, body, request: { headers } }) => {
  const identity = provider.identify(request(Buffer.from(JSON.stringify(body)), headers), { webhookSecret });
  const event = { event: identity?.event, eventId: identity?.eventId, connectionId: 'home', body };
  const outcome = { identity, normalization: provider.normalize(event, { webhookSecret }) };
  expect(outcome).toEqual(golden(new URL(\`\${name}.facts.json\`, folder), outcome, { update }));
});

test('a request signed by ${title} is genuine; one of another body, or without a signature, is refused', () => {
  const body = Buffer.from('{"text":"on"}');
  const signature = hmac({ algorithm: 'sha256', key: webhookSecret, content: body, encoding: 'hex' });
  const verified = [
    request(body, { 'x-signature': signature }),
    request(Buffer.from('{"text":"no"}'), { 'x-signature': signature }),
    request(body),
  ].map((each) => provider.verify(each, { webhookSecret }, 0));
  expect(verified).toEqual([
    { ok: true },
    { ok: false, reason: 'x-signature does not match' },
    { ok: false, reason: 'x-signature is missing' },
  ]);
});

test('another event is ignored, and a broken note is told apart', () => {
  const normalized = ['board.renamed', 'note.written'].map((event) =>
    provider.normalize({ event, eventId: 'n1', connectionId: 'home', body: { type: event, id: 7 } }, { webhookSecret }),
  );
  expect(normalized).toEqual([
    { type: 'ignored', reason: 'board.renamed' },
    {
      type: 'invalid',
      issues: ['id: invalid_type', 'board: invalid_type', 'author: invalid_type', 'text: invalid_type'],
    },
  ]);
});
`;

const readme = (name: string, title: string): string => `# ${title}

Notes of ${title}, in.

- **Connect**: \`signalbox connections put home --provider ${name} --secret webhookSecret=env:WEBHOOK_SECRET\`, then
  send to \`POST /webhooks/v1/${name}/home/events\`.
- **Proof**: \`x-signature\`, the hex HMAC-SHA256 of the raw body.
- **Channel**: \`${name}:<board>\`, one per board.
- **Entry**: \`note:<id>\`, a note.
- **Woken by**: \`${name}.note.written\`.
`;

import { existsSync } from 'node:fs';
import { type GeneratedFile, root } from './file.ts';

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
    { path: `${folder}/${name}.test.ts`, text: test(name, title) },
    { path: `${folder}/README.md`, text: readme(name, title) },
  ];
}

const declaration = (name: string, title: string): string => `import { z } from 'zod';
import { SignalChannelId, SourceEntryId } from '../../../schemas/ids.ts';
import { defineProvider, issuesOf, parseJson } from '../../provider.ts';
import { secret } from '../../secret.ts';
import { hmac, isEqual } from '../../signature.ts';
import { NoteWritten } from './payload.ts';

const config = z.strictObject({
  webhookSecret: secret().describe('Signs each request.'),
});

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
    return note.success ? { eventId: note.data.id, event: note.data.type } : undefined;
  },

  normalize({ event, body }) {
    if (event !== 'note.written') return { type: 'ignored', reason: event ?? 'no event' };
    const note = NoteWritten.safeParse(body);
    if (!note.success) return { type: 'invalid', issues: issuesOf(note.error) };
    const { board, author, text } = note.data;
    return {
      type: 'facts',
      facts: [
        {
          type: 'entry_received',
          signalChannelId: SignalChannelId.parse(\`${name}:\${board}\`),
          sourceEntryId: SourceEntryId.parse(\`note:\${note.data.id}\`),
          channel: { kind: 'alert_stream', replyMode: 'none', name: board },
          author: { id: author, kind: 'unknown' },
          text,
          actorEventType: '${name}.note.written',
        },
      ],
    };
  },
});
`;

const payload = (title: string): string => `import { z } from 'zod';

/** A note as ${title} sends it: the members that we read. */
export const NoteWritten = z.object({
  type: z.literal('note.written'),
  id: z.string().min(1).max(200),
  board: z.string().min(1).max(200),
  author: z.string().min(1).max(200),
  text: z.string(),
});
`;

const test = (name: string, title: string): string => `import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../provider.ts';
import { Secret } from '../../secret.ts';
import { hmac } from '../../signature.ts';
import { provider } from './index.ts';

const webhookSecret = new Secret('correct horse');
const note = { type: 'note.written', id: 'n1', board: 'kitchen', author: 'ada', text: 'The kettle is on.' };
const body = Buffer.from(JSON.stringify(note));
const signature = hmac({ algorithm: 'sha256', key: webhookSecret, content: body, encoding: 'hex' });
const request = (headers: WebhookRequest['headers'], content = body): WebhookRequest => ({
  kind: 'events',
  connectionId: 'home',
  headers,
  query: {},
  body: content,
});

test('a request signed by ${title} is genuine and named by its body', () => {
  expect(provider.verify(request({ 'x-signature': signature }), { webhookSecret }, 0)).toEqual({ ok: true });
  expect(provider.identify(request({ 'x-signature': signature }), { webhookSecret })).toEqual({
    eventId: 'n1',
    event: 'note.written',
  });
});

test('a request without a signature, or with one of another body, is refused', () => {
  const other = Buffer.from(JSON.stringify({ ...note, text: 'The kettle is off.' }));
  expect(provider.verify(request({}), { webhookSecret }, 0)).toEqual({ ok: false, reason: 'x-signature is missing' });
  expect(provider.verify(request({ 'x-signature': signature }, other), { webhookSecret }, 0)).toEqual({
    ok: false,
    reason: 'x-signature does not match',
  });
});

test('a note becomes an entry of its board', () => {
  const event = { event: 'note.written', eventId: 'n1', connectionId: 'home', body: note };
  expect(provider.normalize(event, { webhookSecret })).toEqual({
    type: 'facts',
    facts: [
      {
        type: 'entry_received',
        signalChannelId: '${name}:kitchen',
        sourceEntryId: 'note:n1',
        channel: { kind: 'alert_stream', replyMode: 'none', name: 'kitchen' },
        author: { id: 'ada', kind: 'unknown' },
        text: 'The kettle is on.',
        actorEventType: '${name}.note.written',
      },
    ],
  });
});

test('another event is ignored and a broken note is told apart', () => {
  const event = { eventId: 'n1', connectionId: 'home', body: {} };
  expect(provider.normalize({ ...event, event: 'board.renamed' }, { webhookSecret })).toEqual({
    type: 'ignored',
    reason: 'board.renamed',
  });
  expect(provider.normalize({ ...event, event: 'note.written' }, { webhookSecret })).toEqual({
    type: 'invalid',
    issues: [
      'type: invalid_value',
      'id: invalid_type',
      'board: invalid_type',
      'author: invalid_type',
      'text: invalid_type',
    ],
  });
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

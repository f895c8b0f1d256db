import { z } from 'zod';
import { AgentUid } from '../../../schemas/ids.ts';
import { Scope, type Token, TokenId, tokens as topic } from '../../../schemas/token.ts';
import { BusError } from '../../../shared/errors.ts';
import { createToken } from '../../../shared/token.ts';
import { defineCommand, type Family, type Page } from '../command.ts';
import { putRow } from '../configuration.ts';
import { list, table } from '../style.ts';
import { ago, instant, parseSpan } from '../time.ts';

/** A token as it may be shown: without its digest. */
type ShownToken = Omit<Token, 'digest' | 'updatedAt'>;

const shown = ({ digest: _digest, updatedAt: _updatedAt, ...token }: Token): ShownToken => token;

const never = 'never';

const create = defineCommand({
  name: 'tokens create',
  summary: 'Make a bearer token for the API; its text is shown once.',
  details:
    'Only a digest is stored. A token for some agents has to do with their bindings and events alone; what all share, the ' +
    'mirror and journeys, needs a token for all of them.',
  examples: [
    'signalbox tokens create console --scope bindings:read --scope bindings:write --agent iris',
    'signalbox tokens create auditor --scope journeys:read --expires 7d',
  ],
  options: z.strictObject({
    name: z.string().trim().min(1).max(100).describe('What it is for.'),
    scope: z.array(Scope).min(1).meta({ description: 'What it may do; repeat it for more.', placeholder: 'scope' }),
    agent: z.array(z.string().trim().toLowerCase().pipe(AgentUid)).default([]).meta({
      description: 'An agent that it is for; for all agents when none is named.',
      placeholder: 'agent',
    }),
    expires: z
      .string()
      .default('90d')
      .refine((text) => text === never || parseSpan(text) !== undefined, { error: 'must be like 12h, 90d or never' })
      .meta({ description: 'How long it holds, or never.', placeholder: 'span' }),
  }),
  positional: ['name'],

  async run({ name, scope, agent, expires }, context) {
    const shared = scope.filter((one) => one === 'mirror:read' || one === 'journeys:read');
    if (agent.length > 0 && shared.length > 0) {
      throw new BusError('input-invalid', { '--agent': `${shared.join(', ')} is for tokens of all agents` });
    }
    const now = context.clock.now();
    const { token, text } = createToken({
      name,
      scopes: [...new Set(scope)],
      agents: agent.length === 0 ? null : [...new Set(agent)],
      expiresAt: expires === never ? null : now + (parseSpan(expires) ?? 0),
      now,
    });
    await putRow(context, topic, token);
    // The one place where a token is printed: to whoever made it.
    return { ...shown(token), token: text.reveal() };
  },

  show: ({ token, ...rest }, page) =>
    [details(rest, page), '', token, page.style.dim('This is shown once; only a digest is kept.')].join('\n'),
});

const all = defineCommand({
  name: 'tokens list',
  summary: 'List the tokens, revoked and expired ones too.',
  options: z.strictObject({}),

  async run(_options, context) {
    const rows = (await context.table(topic)).all();
    return rows.map(shown).toSorted((a, b) => a.createdAt - b.createdAt);
  },

  show(rows, page) {
    if (rows.length === 0) return 'No tokens. `signalbox tokens create` makes one.';
    return table(
      ['id', 'name', 'state', 'agents', 'scopes', 'made'],
      rows.map((token) => [
        token.id,
        token.name,
        state(token, page),
        agentsText(token),
        token.scopes.join(', '),
        ago(token.createdAt, page.now),
      ]),
      page.style,
    );
  },
});

const revoke = defineCommand({
  name: 'tokens revoke',
  summary: 'Revoke a token: every process refuses it within moments.',
  options: z.strictObject({ id: TokenId.describe("The token's id: the part of its text after sbx_.") }),
  positional: ['id'],

  async run({ id }, context) {
    const token = (await context.table(topic)).get(id);
    if (token === undefined) throw new BusError('token-not-found', { id });
    // One that was revoked stays as it was.
    if (token.revokedAt !== null) return shown(token);
    const now = Math.max(context.clock.now(), token.updatedAt + 1);
    const revoked = { ...token, revokedAt: now, updatedAt: now };
    await putRow(context, topic, revoked);
    return shown(revoked);
  },
  show: details,
});

/** The commands of the API's bearer tokens. */
export const tokens: Family = {
  name: 'tokens',
  summary: 'Say who may use the API, and for what: create, list, revoke.',
  commands: [create, all, revoke],
};

const agentsText = ({ agents }: ShownToken): string => agents?.join(', ') ?? 'all';

function state({ revokedAt, expiresAt }: ShownToken, { style, now }: Page): string {
  if (revokedAt !== null) return style.red('revoked');
  return expiresAt !== null && expiresAt <= now ? style.yellow('expired') : style.green('valid');
}

function details(token: ShownToken, page: Page): string {
  return list(
    [
      ['id', token.id],
      ['name', token.name],
      ['state', state(token, page)],
      ['agents', agentsText(token)],
      ['scopes', token.scopes.join(', ')],
      ['expires', token.expiresAt === null ? never : instant(token.expiresAt)],
    ],
    page.style,
  );
}

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { bindings } from '../../../schemas/binding.ts';
import { type Connection, connections as topic } from '../../../schemas/connection.ts';
import { ConnectionId } from '../../../schemas/ids.ts';
import { sealConnection, secretNames } from '../../../shared/connection.ts';
import { BusError } from '../../../shared/errors.ts';
import { providers } from '../../../shared/providers/index.ts';
import { defineCommand, type Family, type Page } from '../command.ts';
import { putRow, removeRow } from '../configuration.ts';
import type { CommandContext } from '../context.ts';
import { parseSource, readSecret } from '../secret-sources.ts';
import { list, table } from '../style.ts';
import { ago, instant } from '../time.ts';

const id = ConnectionId.describe("The connection's id, which is also part of its webhook URL.");

/** A connection as it may be shown: of its secrets only that they exist, and which keys seal them. */
interface ShownConnection {
  readonly id: string;
  readonly provider: string;
  readonly config: Connection['config'];
  readonly secrets: readonly { readonly name: string; readonly count: number; readonly keyIds: readonly string[] }[];
  /** Paths below the address of the ingress. */
  readonly webhooks: readonly string[];
  readonly updatedAt: number;
}

const shown = (connection: Connection): ShownConnection => ({
  id: connection.id,
  provider: connection.provider,
  config: connection.config,
  secrets: Object.entries(connection.secrets).map(([name, sealed]) => ({
    name,
    count: sealed.length,
    keyIds: [...new Set(sealed.map(({ keyId }) => keyId))],
  })),
  webhooks: (providers.get(connection.provider)?.kinds ?? []).map(
    (kind) => `/webhooks/v1/${connection.provider}/${connection.id}/${kind}`,
  ),
  updatedAt: connection.updatedAt,
});

const put = defineCommand({
  name: 'connections put',
  summary: 'Store an account at a provider, its secrets sealed.',
  details:
    'A secret is read from where --secret says, never from the command line: NAME=env:VARIABLE, NAME=file:PATH, or ' +
    'NAME=- for standard input (at a terminal you are asked). Name it twice while the provider changes it: both are ' +
    'tried, the first one first. A secret that is not named keeps its stored values; other settings are replaced.',
  examples: [
    'signalbox connections put octo --provider github --secret webhookSecret=env:GITHUB_WEBHOOK_SECRET',
    'signalbox connections put octo --provider github --secret webhookSecret=-',
  ],
  options: z.strictObject({
    id,
    provider: z
      .enum([...providers.keys()])
      .optional()
      .describe('Whose account it is; may be left out for one that exists.'),
    config: z.string().optional().meta({ description: "The provider's open settings.", placeholder: 'json' }),
    configFile: z.string().optional().meta({ description: 'The same, from a file.', placeholder: 'path' }),
    secret: z.array(z.string()).default([]).meta({
      description: 'A secret setting and where to read it.',
      placeholder: 'name=source',
    }),
  }),
  positional: ['id'],

  async run(options, context) {
    const keys = context.deployment().secretKeys;
    if (keys === undefined) {
      throw new BusError('key-missing', {
        setting: 'SIGNALBOX_SECRET_KEYS',
        'a new one': 'SIGNALBOX_SECRET_KEYS="k1:$(openssl rand -base64 32)"',
      });
    }
    const existing = (await context.table(topic)).get(options.id);
    const provider = providers.get(options.provider ?? existing?.provider ?? '');
    if (provider === undefined) {
      throw new BusError('input-invalid', { '--provider': `one of ${[...providers.keys()].join(', ')}` });
    }
    if (existing !== undefined && existing.provider !== provider.name) await refuseInUse(context, options.id);
    const hidden = secretNames(provider);
    const open = openSettings(options, hidden) ?? (existing?.provider === provider.name ? existing.config : {});
    const secrets = await typedSecrets(options.secret, hidden, context);
    const connection = sealConnection(
      { id: options.id, config: { ...open, ...secrets } },
      { provider, existing, keys, now: context.clock.now() },
    );
    await putRow(context, topic, connection);
    return shown(connection);
  },
  show: details,
});

const all = defineCommand({
  name: 'connections list',
  summary: 'List the connections, by id.',
  options: z.strictObject({}),

  async run(_options, context) {
    return (await context.table(topic)).all().map(shown);
  },

  show(rows, page) {
    if (rows.length === 0) return 'No connections. `signalbox connections put` makes one.';
    return table(
      ['id', 'provider', 'secrets', 'changed', 'webhook'],
      rows.map((row) => [
        row.id,
        row.provider,
        row.secrets.map(secretText).join(', '),
        ago(row.updatedAt, page.now),
        row.webhooks[0] ?? '',
      ]),
      page.style,
    );
  },
});

const show = defineCommand({
  name: 'connections show',
  summary: 'Show one connection; of its secrets only that they exist.',
  options: z.strictObject({ id }),
  positional: ['id'],
  run: async (options, context) => shown(await find(context, options.id)),
  show: details,
});

const remove = defineCommand({
  name: 'connections delete',
  summary: 'Delete a connection that no binding uses; its webhooks are refused from then on.',
  options: z.strictObject({ id }),
  positional: ['id'],

  async run(options, context) {
    const connection = await find(context, options.id);
    await refuseInUse(context, connection.id);
    await removeRow(context, topic, connection.id);
    return { deleted: shown(connection) };
  },
  show: ({ deleted }) => `Deleted ${deleted.id}.`,
});

/** The commands of accounts at providers. */
export const connections: Family = {
  name: 'connections',
  summary: 'Say which accounts at providers there are: put, list, show, delete.',
  commands: [put, all, show, remove],
};

async function find(context: CommandContext, connection: ConnectionId): Promise<Connection> {
  const found = (await context.table(topic)).get(connection);
  if (found === undefined) throw new BusError('connection-not-found', { connection });
  return found;
}

async function refuseInUse(context: CommandContext, connection: ConnectionId): Promise<void> {
  const users = (await context.table(bindings)).by(connection);
  if (users.length === 0) return;
  throw new BusError('connection-in-use', {
    connection,
    bindings: users.map(({ agentUid, name }) => `${agentUid} ${name}`),
  });
}

/** The open settings that were typed; undefined when none were. */
function openSettings(
  typed: { readonly config?: string | undefined; readonly configFile?: string | undefined },
  hidden: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  if (typed.config !== undefined && typed.configFile !== undefined) {
    throw new BusError('input-invalid', { '--config-file': 'not beside --config' });
  }
  const text = typed.config ?? (typed.configFile === undefined ? undefined : readText(typed.configFile));
  if (text === undefined) return undefined;
  const parsed = JsonObject.safeParse(text);
  if (!parsed.success) throw new BusError('input-invalid', { '--config': 'must be a JSON object' });
  const misplaced = hidden.find((name) => name in parsed.data);
  if (misplaced !== undefined) {
    throw new BusError('input-invalid', {
      '--config': `${misplaced} is a secret; give it as --secret ${misplaced}=env:VARIABLE`,
    });
  }
  return parsed.data;
}

const JsonObject = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: 'custom', message: 'not JSON' });
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string(), z.unknown()));

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new BusError('input-invalid', { '--config-file': 'cannot be read' }, cause);
  }
}

/** The secrets that were named, by name and in order, as `sealConnection` takes them. */
async function typedSecrets(
  texts: readonly string[],
  hidden: readonly string[],
  { environment, terminal }: CommandContext,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const values = new Map<string, string[]>();
  for (const text of texts) {
    const named = parseSource(text);
    // What was typed may be the secret itself, so it is not repeated.
    if (named === undefined) {
      throw new BusError('input-invalid', { '--secret': 'must be NAME=env:VARIABLE, NAME=file:PATH or NAME=-' });
    }
    if (!hidden.includes(named.name)) {
      throw new BusError('input-invalid', { '--secret': `${named.name}: its secrets are ${hidden.join(', ')}` });
    }
    const secret = await readSecret(named, { environment: environment(), ask: terminal.readSecret });
    values.set(named.name, [...(values.get(named.name) ?? []), secret.reveal()]);
  }
  return Object.fromEntries(values);
}

const secretText = ({ name, count, keyIds }: ShownConnection['secrets'][number]): string =>
  `${name} (${count}, sealed with ${keyIds.join(', ')})`;

function details(connection: ShownConnection, { style, now }: Page): string {
  return list(
    [
      ['id', connection.id],
      ['provider', connection.provider],
      ['settings', JSON.stringify(connection.config)],
      ...connection.secrets.map((secret, index): [string, string] => [
        index === 0 ? 'secrets' : '',
        secretText(secret),
      ]),
      ...connection.webhooks.map((path, index): [string, string] => [index === 0 ? 'webhooks' : '', style.cyan(path)]),
      ['changed', `${instant(connection.updatedAt)} (${ago(connection.updatedAt, now)})`],
    ],
    style,
  );
}

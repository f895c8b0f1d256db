import { z } from 'zod';
import { Connection } from '../schemas/connection.ts';
import { BusError } from './errors.ts';
import type { Provider } from './provider.ts';
import { type KeyRing, open, seal } from './sealing.ts';
import { isSecretSchema, Secret } from './secret.ts';

/** A connection as people type it: a secret is one text, or a list of them while it is being replaced. */
export interface TypedConnection {
  readonly id: string;
  readonly config: Readonly<Record<string, unknown>>;
}

interface Member {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly optional: boolean;
  readonly secret: boolean;
}

type Values = Readonly<Record<string, unknown>>;

function membersOf(schema: z.ZodType): readonly Member[] {
  if (!(schema instanceof z.ZodObject)) throw new TypeError('The config of a provider must be an object schema.');
  // The shape of any object schema is a record of schemas; only zod's own declaration is wider.
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>;
  return Object.entries(shape).map(([name, member]) => {
    const inner = member instanceof z.ZodOptional ? (member.unwrap() as z.ZodType) : member;
    return { name, schema: member, optional: inner !== member, secret: isSecretSchema(inner) };
  });
}

/** The names of a provider's secret settings. */
export const secretNames = (provider: Pick<Provider, 'config'>): readonly string[] =>
  membersOf(provider.config)
    .filter((member) => member.secret)
    .map((member) => member.name);

/** A setting of a provider's connections, for forms: a secret tells no more than that it is a text. */
export interface ConnectionField {
  readonly name: string;
  readonly secret: boolean;
  readonly required: boolean;
  readonly schema: Readonly<Record<string, z.core.util.JSONType>>;
}

/** The settings of a provider's connections. */
export const fieldsOf = (provider: Pick<Provider, 'config'>): readonly ConnectionField[] =>
  membersOf(provider.config).map((member) => ({
    name: member.name,
    secret: member.secret,
    required: !member.schema.safeParse(undefined).success,
    schema: member.secret ? { type: 'string' } : jsonSchemaOf(member.schema),
  }));

// A JSON Schema is JSON, whatever its type says.
const jsonSchemaOf = (schema: z.ZodType): ConnectionField['schema'] => {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return described as ConnectionField['schema'];
};

// What a sealed secret is bound to. Ids hold no slash, so no two places read alike.
const placeOf = (connectionId: string, member: string): string => `${connectionId}/${member}`;

const issuesOf = (error: z.ZodError): readonly string[] =>
  error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));

/** One object for each combination of values; none while a secret that must be there has no value. */
function combinations(
  members: readonly Member[],
  secrets: ReadonlyMap<string, readonly Secret[]>,
): readonly Readonly<Record<string, string>>[] {
  let made: readonly Readonly<Record<string, string>>[] = [{}];
  for (const { name, optional } of members) {
    const values = secrets.get(name) ?? [];
    if (values.length === 0 && optional) continue;
    made = made.flatMap((one) => values.map((value) => ({ ...one, [name]: value.reveal() })));
  }
  return made;
}

function storedSecrets(connection: Connection, members: readonly Member[], keys: KeyRing) {
  return new Map(
    members.map(({ name }) => {
      const context = placeOf(connection.id, name);
      return [name, (connection.secrets[name] ?? []).map((sealed) => open(sealed, { keys, context }))] as const;
    }),
  );
}

const TypedSecret = z
  .union([z.string(), z.null(), z.array(z.string().min(1)).max(5)])
  .optional()
  .transform((typed) => {
    if (typeof typed !== 'string') return typed?.map((text) => new Secret(text));
    return typed.trim() === '' ? undefined : [new Secret(typed)];
  });

/**
 * Makes the connection that is stored: settings checked by the provider's schema, secrets sealed. A secret that is blank
 * or absent keeps its stored values, sealed anew by the ring's first key; an empty list takes them away. Throws `input-invalid`.
 */
export function sealConnection(
  typed: TypedConnection,
  options: {
    readonly provider: Pick<Provider, 'name' | 'config'>;
    readonly existing?: Connection | undefined;
    readonly keys: KeyRing;
    readonly now: number;
  },
): Connection {
  const { provider, existing, keys } = options;
  const hidden = membersOf(provider.config).filter((member) => member.secret);
  const names = new Set(hidden.map((member) => member.name));
  const shown = Object.fromEntries(Object.entries(typed.config).filter(([name]) => !names.has(name)));

  const secrets = new Map<string, readonly Secret[]>();
  for (const member of hidden) {
    const given = TypedSecret.safeParse(typed.config[member.name]);
    if (!given.success) throw refusal([`${member.name}: a text is expected, or a list of at most five`]);
    if (given.data !== undefined) secrets.set(member.name, given.data);
  }
  if (existing?.id === typed.id && existing.provider === provider.name) {
    const absent = hidden.filter((member) => !secrets.has(member.name));
    for (const [name, values] of storedSecrets(existing, absent, keys)) secrets.set(name, values);
  }

  const possible = combinations(hidden, secrets);
  for (const values of possible.length === 0 ? [{}] : possible) {
    const checked = provider.config.safeParse({ ...shown, ...values });
    if (!checked.success) throw refusal(issuesOf(checked.error));
  }
  const sealed = [...secrets].map(([name, values]) => {
    const context = placeOf(typed.id, name);
    return [name, values.map((value) => seal(value, { keys, context }))] as const;
  });
  const connection = Connection.safeParse({
    id: typed.id,
    provider: provider.name,
    config: shown,
    secrets: Object.fromEntries(sealed.filter(([, values]) => values.length > 0)),
    updatedAt: options.now,
  });
  if (!connection.success) throw refusal(issuesOf(connection.error));
  return connection.data;
}

const refusal = (issues: readonly string[]): BusError => new BusError('input-invalid', { issues });

// A member that a newer version of the provider stored is passed over.
const known = (config: Values, members: readonly Member[]): Values =>
  Object.fromEntries(members.flatMap(({ name }) => (config[name] === undefined ? [] : [[name, config[name]]])));

function parseStored<T>(connection: Connection, schema: z.ZodType<T>, values: Values): T {
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  throw new BusError('contract-violated', { connectionId: connection.id, issues: issuesOf(parsed.error) });
}

/**
 * The settings of a connection with its secrets open: one for each combination of stored values, none while a secret
 * that must be there has no value. Throws `key-missing`, `seal-broken` or `contract-violated`.
 */
export function openConnection<Config>(
  connection: Connection,
  provider: Provider<Config>,
  keys: KeyRing,
): readonly Config[] {
  const members = membersOf(provider.config);
  const hidden = members.filter((member) => member.secret);
  const shown = known(
    connection.config,
    members.filter((member) => !member.secret),
  );
  return combinations(hidden, storedSecrets(connection, hidden, keys)).map((values) =>
    parseStored(connection, provider.config, { ...shown, ...values }),
  );
}

// Asked for each fact, and a schema is compiled when it is used first.
const publicSchemas = new WeakMap<object, { readonly shown: readonly Member[]; readonly schema: z.ZodType }>();

function publicSchemaOf<Config>({ config }: Provider<Config>) {
  const made = publicSchemas.get(config);
  if (made !== undefined) return made;
  const shown = membersOf(config).filter((member) => !member.secret);
  const schema = z.object(Object.fromEntries(shown.map(({ name, schema: member }) => [name, member])));
  publicSchemas.set(config, { shown, schema });
  return { shown, schema };
}

/** The settings of a connection without its secrets, as the provider's `normalize` reads them. Throws `contract-violated`. */
export function publicConfig<Config>(connection: Connection, provider: Provider<Config>): Config {
  const { shown, schema } = publicSchemaOf(provider);
  // `normalize` is declared over the whole config and promised never to see a secret: those members are absent here.
  return parseStored(connection, schema, known(connection.config, shown)) as Config;
}

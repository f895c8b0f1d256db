import { z } from 'zod';
import {
  type Binding,
  bindingKey,
  bindings as topic,
  UnaddressedGroupMessagePolicy,
} from '../../../schemas/binding.ts';
import { connections } from '../../../schemas/connection.ts';
import { connectionStates } from '../../../schemas/connection-state.ts';
import { type AgentUid, type BindingName, ConnectionId } from '../../../schemas/ids.ts';
import { unavailableReasonOf } from '../../../shared/availability.ts';
import { requireFilter } from '../../../shared/cel/filter.ts';
import { readConfig } from '../../../shared/config.ts';
import { BusError } from '../../../shared/errors.ts';
import { recentFacts } from '../../../shared/runtime/recent-facts.ts';
import { TypedAgentUid, TypedBindingName } from '../../../shared/typed-ids.ts';
import { config as filterConfig } from '../../filter/config.ts';
import { tryFilter } from '../../filter/trial.ts';
import { defineCommand, type Family, type Page } from '../command.ts';
import { putRow, removeRow } from '../configuration.ts';
import type { CommandContext } from '../context.ts';
import { list, table } from '../style.ts';
import { ago, instant } from '../time.ts';
import { parseWindows, windowForm, windowLines } from '../window-flags.ts';

const agent = TypedAgentUid.describe('The agent that is woken; letter case does not matter.');
const name = TypedBindingName.describe("The binding's name within its agent.");

const put = defineCommand({
  name: 'bindings put',
  summary: 'Join a connection to an agent, or replace that rule.',
  details:
    'The whole rule is replaced: what is not given has its default. A rule that was unavailable is available again. ' +
    'A filter is CEL over `binding` and `signal`; without one, every fact of the connection passes. ' +
    'A window is how long messages of a conversation wait for the rest of what is being said; ' +
    '`signalbox bindings show` lists them, and docs/conversations.md explains them.',
  examples: [
    'signalbox bindings put iris desk --connection octo',
    `signalbox bindings put iris bugs --connection octo --filter "signal.kind == 'entry_received' && signal.entry.text.contains('bug')"`,
    'signalbox bindings put iris team --connection chat --policy may_intervene --window addressed=1500ms --window ambient=30s',
  ],
  options: z.strictObject({
    agent,
    name,
    connection: ConnectionId.meta({ description: 'The connection whose facts it takes.', placeholder: 'id' }),
    filter: z.string().trim().min(1).max(4_000).optional().meta({
      description: 'Which facts pass: a CEL expression that gives true or false.',
      placeholder: 'cel',
    }),
    policy: UnaddressedGroupMessagePolicy.default('record_only').describe(
      'What a group message does that addresses nobody.',
    ),
    editedEvents: z
      .boolean()
      .default(true)
      .describe('Tell an edit of what the agent has as an event of its own type, and not as signal.entry.edited.'),
    window: z
      .array(z.string())
      .default([])
      .refine((texts) => parseWindows(texts) !== undefined, { error: windowForm })
      .meta({ description: 'How long messages wait for more; repeat it for other windows.', placeholder: 'name=time' }),
    disabled: z.boolean().default(false).describe('Keep the rule and let nothing pass.'),
  }),
  positional: ['agent', 'name'],

  async run(options, context) {
    const connection = (await context.table(connections)).get(options.connection);
    if (connection === undefined) throw new BusError('connection-not-found', { connection: options.connection });
    requireFilter(options.filter);
    const binding: Binding = {
      agentUid: options.agent,
      name: options.name,
      adapter: connection.provider,
      connectionId: connection.id,
      filters: options.filter === undefined ? {} : { cel: options.filter },
      unaddressedGroupMessagePolicy: options.policy,
      ...(!options.editedEvents && { entryEditedEvents: false }),
      ...(options.window.length > 0 && { windows: parseWindows(options.window) }),
      enabled: !options.disabled,
      unavailableReason: null,
      updatedAt: context.clock.now(),
    };
    await putRow(context, topic, binding);
    return binding;
  },
  show: details,
});

const show = defineCommand({
  name: 'bindings show',
  summary: 'Show one binding.',
  options: z.strictObject({ agent, name }),
  positional: ['agent', 'name'],
  run: async (options, context) => (await shownBy(context))(await find(context, options)),
  show: details,
});

const all = defineCommand({
  name: 'bindings list',
  summary: 'List the bindings, by agent and name.',
  options: z.strictObject({ agent: agent.optional().describe('Only those of this agent.') }),

  async run(options, context) {
    const rows = (await context.table(topic)).all();
    return rows
      .filter((binding) => options.agent === undefined || binding.agentUid === options.agent)
      .toSorted((a, b) => compare(a.agentUid, b.agentUid) || compare(a.name, b.name))
      .map(await shownBy(context));
  },

  show(rows, page) {
    if (rows.length === 0) return 'No bindings. `signalbox bindings put` makes one.';
    return table(
      ['agent', 'name', 'connection', 'state', 'changed', 'filter'],
      rows.map((binding) => [
        binding.agentUid,
        binding.name,
        binding.connectionId,
        state(binding, page),
        ago(binding.updatedAt, page.now),
        binding.filters.cel ?? page.style.dim('everything passes'),
      ]),
      page.style,
    );
  },
});

const test = defineCommand({
  name: 'bindings test',
  summary: "Try a filter on a binding's newest facts: which pass, which do not, and why.",
  details:
    'Without --filter the stored filter is tried. Nothing is changed, nobody is woken, and of the facts only ids are shown. ' +
    'The parts that && or || joins at the top of the filter are tried one by one.',
  examples: [`signalbox bindings test iris desk --filter "signal.entry.text.contains('bug')"`],
  options: z.strictObject({
    agent,
    name,
    filter: z.string().trim().min(1).max(4_000).optional().meta({
      description: 'The CEL expression to try.',
      placeholder: 'cel',
    }),
    last: z.coerce.number().int().min(1).max(1_000).default(20).describe('How many facts at most, the newest.'),
    look: z.coerce
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .default(20_000)
      .describe('How many records to look through for them, over all partitions.'),
  }),
  positional: ['agent', 'name'],

  async run({ filter, last, look, ...ref }, context) {
    const stored = await find(context, ref);
    const binding = filter === undefined ? stored : { ...stored, filters: { cel: filter } };
    requireFilter(binding.filters.cel);
    const { maxWork } = readConfig([filterConfig] as const, context.environment())[0];
    const log = { bus: await context.bus(), codec: await context.codec() };
    const { facts, looked } = await recentFacts(log, { connectionId: binding.connectionId, last, look });
    const tried = facts.map(({ position, at, fact }) => ({
      position,
      at,
      signalChannelId: fact.signalChannelId,
      ...tryFilter(binding, fact, { at, maxWork }),
    }));
    return { filter: binding.filters.cel ?? null, facts: tried, looked };
  },

  show({ facts, looked }, page) {
    if (facts.length === 0) return `No fact of this connection among the newest ${looked} records.`;
    const { style } = page;
    const passed = facts.filter(({ outcome }) => outcome === 'passes').length;
    const marks = { passes: style.green('passes'), filtered: style.yellow('filtered'), failed: style.red('failed') };
    const rows = facts.map((fact) => [
      marks[fact.outcome],
      ago(fact.at, page.now),
      fact.signalChannelId,
      fact.position,
      fact.reason,
    ]);
    return [
      table(['', 'came', 'channel', 'fact', 'why'], rows, style),
      '',
      `${passed} of ${facts.length} facts pass.`,
    ].join('\n');
  },
});

const remove = defineCommand({
  name: 'bindings delete',
  summary: 'Delete a binding; its facts then end as binding_not_found.',
  options: z.strictObject({ agent, name }),
  positional: ['agent', 'name'],

  async run(options, context) {
    const binding = await find(context, options);
    await removeRow(context, topic, bindingKey(binding));
    return { deleted: binding };
  },
  show: ({ deleted }) => `Deleted ${deleted.agentUid}/${deleted.name}.`,
});

/** The commands of signal routing rules. */
export const bindings: Family = {
  name: 'bindings',
  summary: 'Say which connection wakes which agent, and when: put, list, show, test, delete.',
  commands: [put, all, show, test, remove],
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function find(
  context: Parameters<typeof put.run>[1],
  ref: { readonly agent: AgentUid; readonly name: BindingName },
): Promise<Binding> {
  const binding = (await context.table(topic)).get(bindingKey({ agentUid: ref.agent, name: ref.name }));
  if (binding === undefined) throw new BusError('binding-not-found', { agent: ref.agent, name: ref.name });
  return binding;
}

/** A binding as people are shown it: unavailable where the system found that of its connection, too. */
async function shownBy(context: CommandContext): Promise<(binding: Binding) => Binding> {
  const accounts = await context.table(connections);
  const states = await context.table(connectionStates);
  return (binding) => ({
    ...binding,
    unavailableReason: unavailableReasonOf(binding, {
      connection: accounts.get(binding.connectionId),
      state: states.get(binding.connectionId),
    }),
  });
}

function state({ enabled, unavailableReason }: Binding, { style }: Page): string {
  if (!enabled) return style.yellow('disabled');
  return unavailableReason === null ? style.green('enabled') : style.red(`unavailable: ${unavailableReason}`);
}

function details(binding: Binding, page: Page): string {
  return list(
    [
      ['agent', binding.agentUid],
      ['name', binding.name],
      ['state', state(binding, page)],
      ['connection', `${binding.connectionId} (${binding.adapter})`],
      ['filter', binding.filters.cel ?? 'everything passes'],
      ['policy', binding.unaddressedGroupMessagePolicy],
      ...windowLines(binding.windows).map((line, index) => [index === 0 ? 'windows' : '', line] as const),
      ['edits', binding.entryEditedEvents === false ? 'events of their own type' : 'signal.entry.edited'],
      ['changed', `${instant(binding.updatedAt)} (${ago(binding.updatedAt, page.now)})`],
    ],
    page.style,
  );
}

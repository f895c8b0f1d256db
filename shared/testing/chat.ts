import { type AcceptedFact, acceptedFacts } from '../../schemas/accepted-fact.ts';
import { ActorEvent } from '../../schemas/actor-event.ts';
import { type OpenBatch, OpenBatches } from '../../schemas/batch.ts';
import type { BatchWindows, UnaddressedGroupMessagePolicy } from '../../schemas/binding.ts';
import { Entry } from '../../schemas/mirror.ts';
import type { AnyStage } from '../stage/index.ts';
import { type Folded, type FoldMessage, fold } from './fold.ts';
import { defaultAt as t0 } from './spec.ts';

/** What a test says of a message: who wrote it, what, and what is unusual. */
export interface Said {
  readonly by?: string;
  readonly text?: string;
  /** The entry's own id, and the event's where that is another. */
  readonly id: string;
  readonly event?: string;
  readonly kind?: 'im_group' | 'im_dm';
  readonly policy?: UnaddressedGroupMessagePolicy;
  readonly windows?: BatchWindows;
  readonly agentUid?: string;
  readonly fact?: Readonly<Record<string, unknown>>;
}

/** A structured mention of the default agent, and of somebody else. */
export const toIris = { mentions: [{ kind: 'bot', agentUid: 'iris' }] };
export const toMei = { mentions: [{ kind: 'user', id: 'mei' }] };

const about = (said: Said) => ({
  connectionId: 'play',
  provider: 'chat',
  providerEventId: said.event ?? `ev-${said.id}`,
  sourceEventId: said.event ?? `ev-${said.id}`,
  signalChannelId: 'chat:77',
  sourceEntryId: said.id,
  channel: { kind: said.kind ?? 'im_group', replyMode: 'entry' },
  receivedAt: t0,
});

const accepted = (said: Said, fact: Readonly<Record<string, unknown>>): AcceptedFact =>
  acceptedFacts.value.parse({
    type: 'fact.accepted',
    route: {
      agentUid: said.agentUid ?? 'iris',
      bindingName: 'desk',
      adapter: 'chat',
      unaddressedGroupMessagePolicy: said.policy ?? 'record_only',
      ...(said.windows !== undefined && { windows: said.windows }),
    },
    fact: { ...about(said), ...fact },
  });

/** A message in the group `chat:77`, or in a DM of that id. */
export const said = (message: Said): AcceptedFact =>
  accepted(message, {
    type: 'entry_received',
    author: { id: message.by ?? 'mei', kind: 'user' },
    ...(message.text !== undefined && { text: message.text }),
    ...message.fact,
  });

/** The removal of a message. */
export const unsaid = (message: Said): AcceptedFact =>
  accepted(
    { ...message, event: message.event ?? `gone-${message.id}` },
    { type: 'entry_lifecycle', lifecycleKind: 'removed', ...message.fact },
  );

/** What a chat came to. */
export interface Played extends Folded {
  readonly events: readonly ActorEvent[];
  /** The ends of the facts that came, in their order. */
  readonly ends: readonly string[];
  readonly open: readonly OpenBatch[];
  readonly mirrored: ReadonlyMap<string, Entry>;
}

/** Facts of a chat at their instants, in milliseconds after the beginning. */
export type Steps = readonly (readonly [afterMs: number, fact: AcceptedFact])[];

/** Plays facts on the stage that keeps the mirror, and timers when they are due up to `until`. */
export function playOn(
  stage: AnyStage,
  steps: Steps,
  options: { readonly until?: number; readonly settings?: Readonly<Record<string, number>> } = {},
): Played {
  const messages = steps.map(
    ([afterMs, value], number): FoldMessage<AcceptedFact> => ({ id: `m${number}`, value, at: t0 + afterMs }),
  );
  const folded = fold(stage, messages, {
    ...(options.settings !== undefined && { settings: options.settings }),
    ...(options.until !== undefined && { until: t0 + options.until }),
  });
  const facts = new Set(messages.map(({ id }) => id));
  const row = folded.rows.get('open-batches:iris|desk|chat:77');
  const mirrored = [...folded.rows].flatMap(([name, value]): [string, Entry][] => {
    if (!name.startsWith('entries:')) return [];
    const entry = Entry.parse(value);
    return [[entry.sourceEntryId, entry]];
  });
  return {
    ...folded,
    events: folded.left.flatMap(({ effect }) => (effect.do === 'emit' ? [ActorEvent.parse(effect.value)] : [])),
    ends: folded.left.flatMap(({ message, effect }) => {
      if (!facts.has(message)) return [];
      if (effect.do === 'outcome') return effect.status === 'handed_over' ? [] : [effect.status];
      return effect.do === 'reject' ? [effect.code] : [];
    }),
    open: row === undefined ? [] : OpenBatches.parse(row).batches,
    mirrored: new Map(mirrored),
  };
}

/** What an event asks, said short: its type, its text, and the entries that it is made of. */
export const gist = ({ type, data }: ActorEvent): string =>
  `${type}: ${JSON.stringify(data.entry?.text ?? '')} ${(data.inboundBatch?.sourceEntryIds ?? [data.entry?.sourceEntryId]).join('+')}`;

/** When each open batch is due, in milliseconds after the beginning, and what it holds. */
export const waiting = ({ open }: Played): readonly string[] =>
  open.map(
    ({ mode, entries, dueAt }) => `${mode} ${entries.map(({ fact }) => fact.sourceEntryId).join('+')} +${dueAt - t0}`,
  );

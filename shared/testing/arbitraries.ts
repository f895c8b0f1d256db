import fc from 'fast-check';
import { type Binding, bindings } from '../../schemas/binding.ts';
import {
  Action,
  EntryLifecycle,
  EntryReceived,
  exampleFact,
  type NormalizedFact,
  Reaction,
} from '../../schemas/normalized-fact.ts';

/** Ids of a small world, so that facts meet: the same channels, entries, events and instants come again and again. */
const channel = fc.constantFrom('github:octo/repo#1', 'github:octo/repo#2');
const entry = fc.constantFrom('issue_comment:1', 'issue_comment:2', 'issue_comment:3');
const event = fc.integer({ min: 1, max: 12 }).map((number) => `event-${number}`);
const providerTime = fc.option(
  fc.integer({ min: 0, max: 4 }).map((step) => 1_929_952_000_000 + step * 1_000),
  { nil: undefined },
);

const channelFacts = fc.record(
  {
    kind: fc.constantFrom('issue', 'webhook_endpoint', 'unknown'),
    replyMode: fc.constantFrom('none', 'channel', 'entry'),
    name: fc.constantFrom('Spelling error', 'Spelling mistake'),
    visibility: fc.constantFrom('public', 'private'),
    metadata: fc.dictionary(
      fc.constantFrom('labels', 'state', '__proto__'),
      fc.oneof(fc.constantFrom('open', 'closed', null, 3), fc.record({ deep: fc.boolean() }, { requiredKeys: [] })),
      { maxKeys: 2 },
    ),
  },
  { requiredKeys: [] },
);

const known = fc.record({
  signalChannelId: channel,
  sourceEntryId: entry,
  sourceEventId: event,
  channel: channelFacts,
  providerTime,
});

/** An entry, or a newer or older revision of one, of a small world. */
export const entryReceived: fc.Arbitrary<EntryReceived> = fc
  .tuple(
    known,
    fc.record({
      text: fc.constantFrom('one', 'two', undefined),
      title: fc.constantFrom('Title', undefined),
      actorEventType: fc.constantFrom('github.issue_comment.created', 'github.issue_comment.edited', undefined),
      mirrorOnly: fc.constantFrom(true, undefined, undefined),
      edited: fc.constantFrom(true, undefined),
    }),
  )
  .map(([about, content]) => EntryReceived.parse(withoutUndefined({ ...exampleFact, ...about, ...content })));

/** The removal of an entry of a small world. */
export const entryLifecycle: fc.Arbitrary<EntryLifecycle> = known.map((about) =>
  EntryLifecycle.parse(
    withoutUndefined({
      ...about,
      type: 'entry_lifecycle',
      connectionId: exampleFact.connectionId,
      provider: exampleFact.provider,
      receivedAt: exampleFact.receivedAt,
      lifecycleKind: 'removed',
    }),
  ),
);

const ofExample = {
  connectionId: exampleFact.connectionId,
  provider: exampleFact.provider,
  receivedAt: exampleFact.receivedAt,
};

/** A reaction to an entry of a small world, put there or taken away. */
export const reaction: fc.Arbitrary<Reaction> = fc
  .tuple(
    known,
    fc.record({
      reactionKey: fc.constantFrom('eyes', '+1'),
      rawReactionKey: fc.constantFrom(':eyes:', undefined),
      actorKey: fc.constantFrom('mei', 'jonas'),
      action: fc.constantFrom('add', 'remove'),
    }),
  )
  .map(([about, change]) => Reaction.parse(withoutUndefined({ ...ofExample, ...about, ...change, type: 'reaction' })));

/** A click in a small world. */
export const action: fc.Arbitrary<Action> = known.map((about) =>
  Action.parse(withoutUndefined({ ...ofExample, ...about, type: 'action', actionId: 'approve', action: { value: 1 } })),
);

/** A fact of a small world. */
export const normalizedFact: fc.Arbitrary<NormalizedFact> = fc.oneof(
  { weight: 6, arbitrary: entryReceived },
  { weight: 2, arbitrary: entryLifecycle },
  { weight: 3, arbitrary: reaction },
  { weight: 1, arbitrary: action },
);

/** Bindings of a small world: of the example's connection and of another, sound and broken. */
export const someBindings: fc.Arbitrary<readonly Binding[]> = fc.uniqueArray(
  fc
    .record({
      agentUid: fc.constantFrom('iris', 'otto'),
      name: fc.constantFrom('desk', 'lab'),
      connectionId: fc.constantFrom('octo', 'octo', 'hook'),
      adapter: fc.constantFrom('github', 'github', 'standard-webhooks'),
      enabled: fc.constantFrom(true, true, false),
      unavailableReason: fc.constantFrom(null, null, 'token revoked'),
      filters: fc.constantFrom(
        {},
        { cel: "signal.kind == 'entry_received'" },
        { cel: "signal.entry.text.contains('o')" },
        { cel: 'signal.absent' },
      ),
    })
    .map((binding) => bindings.value.parse({ ...bindings.example, ...binding })),
  { selector: bindings.key, maxLength: 4 },
);

/** Sizes of batches, used in turn. */
export const splits: fc.Arbitrary<readonly number[]> = fc.array(fc.integer({ min: 1, max: 7 }), {
  minLength: 1,
  maxLength: 4,
});

/** Messages of a partition: ids of their own, instants that mostly go on and now and then stand still or leap. */
export const messagesOf = <V>(value: fc.Arbitrary<V>, options: { readonly maxLength?: number } = {}) =>
  fc
    .array(fc.record({ value, afterMs: fc.constantFrom(0, 1, 1_000, 60_000, 43_200_000, 172_800_000) }), {
      maxLength: options.maxLength ?? 30,
    })
    .map((steps) => {
      let at = 1_929_952_800_000;
      return steps.map(({ value: each, afterMs }, number) => {
        at += afterMs;
        return { id: `message-${number}`, value: each, at };
      });
    });

const withoutUndefined = (value: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
